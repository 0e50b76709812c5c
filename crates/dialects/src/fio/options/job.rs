//! Name, duration and dependencies of a job.

use super::typed::Delay;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    pub description: Option<String>,
    pub name: Option<String>,
    pub wait_for: Option<String>,
    pub numjobs: i64,
    pub loops: i64,
    pub startdelay: Delay,
    pub runtime: u64,
    pub time_based: bool,
    pub ramp_time: u64,
    pub ramp_size: u64,
    pub number_ios: u64,
    pub exitall: bool,
    pub exit_what: ExitWhat,
    pub exitall_on_error: bool,
    pub stonewall: bool,
    pub new_group: bool,
    pub thread: bool,
    pub create_only: bool,
    pub exec_prerun: Option<String>,
    pub exec_postrun: Option<String>,
    pub comm: Option<String>,
    pub continue_on_error: ContinueOnError,
    pub ignore_error: Vec<Vec<String>>,
    pub error_dump: bool,
    pub flow: i64,
    pub flow_id: i64,
    pub flow_sleep: i64,
    pub profile: Option<String>,
}

choices! {
    /// Which jobs end together.
    ExitWhat at job.exit_what {
        #[default] Group: "group" "jobs of the same group";
        Stonewall: "stonewall" "all running jobs";
        All: "all" "all jobs, including waiting ones";
    }

    /// Errors that do not end a job.
    ContinueOnError at job.continue_on_error {
        #[default] None: "none" "every error ends the job";
        Read: "read" "errors of reads are counted";
        Write: "write" "errors of writes are counted";
        Io: "io" "errors of reads and writes are counted";
        Verify: "verify" "mismatches are counted";
        All: "all" "all of them are counted";
        + "0" "as none" => None; "1" "as all" => All;
    }
}
