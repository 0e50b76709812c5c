//! Determines the number of a process without MPI. It comes from Slurm, Kubernetes, launchers whose
//! library is missing, or the user.

/// Where the processes of one test connect over TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendezvous {
    /// The host of the first process, the coordinator.
    pub host: String,
    /// TCP port on which it listens.
    pub port: u16,
    /// The number of this process.
    pub number: u32,
    /// The number of processes.
    pub size: u32,
}

/// Variables with the number of a process, innermost launcher first.
const NUMBER_VARIABLES: [&str; 8] = [
    "FATHOM_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "FLUX_TASK_RANK", "PALS_RANKID",
    "JOB_COMPLETION_INDEX",
];
/// Variables with the number of processes.
const SIZE_VARIABLES: [&str; 5] = [
    "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "FLUX_JOB_SIZE",
];
/// Variables with the hosts of a Slurm step or job.
const NODE_LIST_VARIABLES: [&str; 3] = ["SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"];

fn first_number(names: &[&str], variable: impl Fn(&str) -> Option<String>) -> Option<u32> {
    names.iter().find_map(|name| variable(name)?.trim().parse().ok())
}

/// The rank that a launcher or the user assigned to this process, if any.
pub fn assigned_rank(variable: impl Fn(&str) -> Option<String>) -> Option<u32> {
    first_number(&NUMBER_VARIABLES, variable)
}

/// Parses `FATHOM_HEAD`: `[HOST]:PORT[*COUNT]`. `None` if it is not set.
///
/// # Errors
/// The problem, and advice on how to solve it.
pub fn read_rendezvous(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Rendezvous>, (String, String)> {
    let is_off = variable("FATHOM_FLEET").is_some_and(|value| value == "off");
    let Some(text) = variable("FATHOM_HEAD").filter(|text| !text.is_empty() && !is_off) else {
        return Ok(None);
    };
    let syntax_error = |what: &str| {
        let help = "for example FATHOM_HEAD='fathom-0.fathom:7745*4': host of the first process, port, \
             number of processes";
        (format!("`{text}` {what}"), help.to_owned())
    };
    let (place, count) = match text.split_once('*') {
        None => (text.as_str(), None),
        Some((place, count)) => match count.parse::<u32>() {
            Ok(count) if count > 0 => (place, Some(count)),
            _ => return Err(syntax_error("does not state the number of processes")),
        },
    };
    let parts = place.rsplit_once(':');
    let (host, port) = parts.ok_or_else(|| syntax_error("is not a host and port"))?;
    let port = port.parse().map_err(|_| syntax_error("is not a host and port"))?;
    let number = assigned_rank(&variable).ok_or_else(|| {
        let what = "the number of this process is unknown";
        let help = "srun, Kubernetes Indexed Jobs and MPI launchers set it; otherwise set \
            FATHOM_RANK on each process, from 0 on";
        (what.to_owned(), help.to_owned())
    })?;
    let size = count
        .or_else(|| first_number(&SIZE_VARIABLES, &variable))
        .ok_or_else(|| {
            let what = "the number of processes is unknown";
            let help = format!("write FATHOM_HEAD='{text}*4' for four");
            (what.to_owned(), help)
        })?;
    if number >= size {
        let what = format!("this is process {number} (counted from 0) of {size}");
        return Err((
            what,
            format!("end FATHOM_HEAD with `*{}` or a larger number", number + 1),
        ));
    }
    let host = match host {
        "" => NODE_LIST_VARIABLES.iter().find_map(|name| first_node(&variable(name)?)),
        named => Some(named.to_owned()),
    };
    let host = host.ok_or_else(|| syntax_error("names no host, and there is no Slurm node list"))?;
    Ok(Some(Rendezvous {
        host,
        port,
        number,
        size,
    }))
}

/// The first host of a Slurm node list such as `node[08-12,17],login`.
fn first_node(list: &str) -> Option<String> {
    let (mut name, mut rest) = (String::new(), list.trim());
    loop {
        let end = rest.find(['[', ',']).unwrap_or(rest.len());
        name += &rest[..end];
        let Some(numbers) = rest[end..].strip_prefix('[') else {
            break;
        };
        let (numbers, after) = numbers.split_once(']')?;
        name += numbers.split([',', '-']).next()?;
        rest = after;
    }
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_host_of_a_node_list_is_found() {
        let check = |list: &str, expected: Option<&str>| {
            assert_eq!(first_node(list).as_deref(), expected, "{list}");
        };
        check("db1", Some("db1"));
        check("db1,db2", Some("db1"));
        check("node[08-12,17],login", Some("node08"));
        check("rack[2,4]-node[1-3]-ib", Some("rack2-node1-ib"));
        check("", None);
        check("node[1", None);
    }

    #[test]
    fn launchers_announce_the_process_number() {
        let check = |set: &[(&str, &str)], expected: Result<Option<(&str, u16, u32, u32)>, &str>| {
            let announcement = read_rendezvous(|name| {
                let pair = set.iter().find(|(variable, _)| *variable == name);
                pair.map(|(_, value)| (*value).to_owned())
            });
            match (&announcement, expected) {
                (Ok(announcement), Ok(expected)) => {
                    let found = announcement.as_ref();
                    let found = found.map(|found| (found.host.as_str(), found.port, found.number, found.size));
                    assert_eq!(found, expected, "{set:?}");
                }
                (Err((what, _)), Err(expected)) => assert!(what.contains(expected), "{set:?}: {what}"),
                _ => panic!("{set:?}: {announcement:?}"),
            }
        };
        let slurm = [
            ("FATHOM_HEAD", ":7745"),
            ("SLURM_PROCID", "2"),
            ("SLURM_NTASKS", "4"),
            ("SLURM_JOB_NODELIST", "node[3-6]"),
        ];
        check(&slurm, Ok(Some(("node3", 7745, 2, 4))));
        check(&slurm[1..], Ok(None));
        let pod = [("FATHOM_HEAD", "fathom-0.fathom:7745*4"), ("JOB_COMPLETION_INDEX", "3")];
        check(&pod, Ok(Some(("fathom-0.fathom", 7745, 3, 4))));
        check(&pod[..1], Err("the number of this process"));
        check(&[pod[0], ("FATHOM_RANK", "4")], Err("process 4 (counted from 0) of 4"));
        check(&[pod[0], pod[1], ("FATHOM_FLEET", "off")], Ok(None));
        check(
            &[("FATHOM_HEAD", "h:1"), ("FATHOM_RANK", "0")],
            Err("the number of processes"),
        );
        check(
            &[("FATHOM_HEAD", "h"), ("FATHOM_RANK", "0")],
            Err("not a host and port"),
        );
        check(
            &[("FATHOM_HEAD", "h:1*x"), ("FATHOM_RANK", "0")],
            Err("does not state the number"),
        );
        check(&[("FATHOM_HEAD", ":1*2"), ("FATHOM_RANK", "0")], Err("names no host"));
    }
}
