//! Options of engines that fathom lacks. They are parsed; running the job is refused.

use super::values::{self, Unit};

/// Kinds of values of these options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Text,
    Number,
    /// A number, or no value at all.
    Switch,
}

/// An option of an unsupported engine.
#[derive(Clone, Copy)]
pub(super) struct UnsupportedEngineOption {
    pub(super) name: &'static str,
    pub(super) kind: ValueKind,
}

use ValueKind::{Number, Switch, Text};

const NVME: &[&str] = &["io_uring_cmd", "xnvme"];
const NET: &[&str] = &["net", "netsplice"];
const CEPH: &[&str] = &["rbd", "rados"];

/// Rows: engines, value type, option names.
#[rustfmt::skip]
const OPTIONS: &[(&[&str], ValueKind, &[&str])] = &[
    (NET, Text, &["hostname", "interface", "protocol", "proto"]),
    (NET, Number, &["port", "ttl", "nodelay", "window_size", "mss"]),
    (NET, Switch, &["listen", "pingpong"]),
    (&["rdma"], Text, &["hostname", "bindname", "verb"]),
    (&["rdma"], Number, &["port"]),
    (&["e4defrag"], Text, &["donorname"]),
    (&["e4defrag"], Number, &["inplace"]),
    (&["mtd"], Number, &["skip_bad"]),
    (&["sg"], Text, &["sg_write_mode"]),
    (&["sg"], Number, &["readfua", "writefua", "hipri", "stream_id"]),
    (&["io_uring_cmd"], Text, &["cmd_type", "write_mode", "read_mode", "verify_mode"]),
    (&["io_uring_cmd"], Number, &[
        "cdb_len", "nonvectored", "force_async", "sqthread_poll_cpu", "nowait", "num_range", "readfua", "writefua",
        "verify_bytchk",
    ]),
    (&["io_uring_cmd"], Switch, &["fixedbufs", "registerfiles", "hipri"]),
    (NVME, Text, &["pi_chk"]),
    (NVME, Number, &["md_per_io_size", "pi_act", "apptag", "apptag_mask"]),
    (NVME, Switch, &["sqthread_poll"]),
    (&["xnvme"], Text, &["xnvme_async", "xnvme_sync", "xnvme_admin", "xnvme_dev_subnqn", "xnvme_mem"]),
    (&["xnvme"], Number, &["hipri", "xnvme_dev_nsid", "xnvme_iovec"]),
    (CEPH, Text, &["clustername", "clientname", "pool"]),
    (CEPH, Number, &["busy_poll"]),
    (&["rbd"], Text, &["rbdname", "rbd_encryption_format", "rbd_encryption_passphrase"]),
    (&["rados"], Text, &["conf"]),
    (&["rados"], Number, &["touch_objects"]),
    (&["http"], Text, &[
        "http_host", "http_user", "http_pass", "https", "http_mode", "http_s3_region", "http_s3_key", "http_s3_keyid",
        "http_s3_security_token", "http_s3_sse_customer_key", "http_s3_sse_customer_algorithm", "http_s3_storage_class",
        "http_swift_auth_token", "http_object_mode",
    ]),
    (&["http"], Number, &["http_verbose"]),
    (&["nfs"], Text, &["nfs_url"]),
    (&["nbd"], Text, &["uri"]),
    (&["gfapi"], Text, &["volume", "brick"]),
    (&["libhdfs"], Text, &["namenode", "hostname", "hdfsdirectory"]),
    (&["libhdfs"], Number, &["port", "chunk_size", "single_instance", "hdfs_use_direct"]),
    (&["dfs"], Text, &["pool", "cont", "object_class", "svcl"]),
    (&["dfs"], Number, &["chunk_size"]),
    (&["libblkio"], Text, &[
        "libblkio_driver", "libblkio_path", "libblkio_pre_connect_props", "libblkio_pre_start_props",
        "libblkio_wait_mode",
    ]),
    (&["libblkio"], Number, &["libblkio_num_entries", "libblkio_queue_size"]),
    (&["libblkio"], Switch, &[
        "hipri", "libblkio_vectored", "libblkio_write_zeroes_on_trim", "libblkio_force_enable_completion_eventfd",
    ]),
    (&["libcufile"], Text, &["gpu_dev_ids", "cuda_io"]),
    (&["libhipfile"], Text, &["gpu_dev_ids", "rocm_io"]),
];

/// The options of an engine that fathom lacks.
pub(super) fn engine_options(engine: &str) -> impl Iterator<Item = UnsupportedEngineOption> {
    let rows = OPTIONS.iter().filter(move |(engines, ..)| engines.contains(&engine));
    rows.flat_map(|(_, kind, names)| names.iter().map(|name| UnsupportedEngineOption { name, kind: *kind }))
}

/// The option of an engine.
pub(super) fn find(engine: &str, name: &str) -> Option<UnsupportedEngineOption> {
    engine_options(engine).find(|option| option.name == name)
}

impl UnsupportedEngineOption {
    /// Whether a value is valid.
    pub(super) fn accepts(self, value: Option<&str>, kb_base: u64) -> bool {
        match (self.kind, value) {
            (_, None | Some("")) => self.kind == Switch && value.is_none(),
            (Text, Some(_)) => true,
            (Number | Switch, Some(text)) => values::parse_number(text, Unit::Bytes, kb_base).is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::engines::{self, ENGINES};

    #[test]
    fn every_row_names_unsupported_engines() {
        for engine in OPTIONS.iter().flat_map(|(engines, ..)| engines.iter()) {
            assert!(ENGINES.iter().any(|known| known.name == *engine), "{engine}");
            assert!(engines::find(engine).is_none(), "{engine}");
        }
    }
}
