//! Processors, priorities, limits.

use super::row::*;
use super::special;
use crate::fio::lower::{pattern, system as lower};
use crate::fio::options::system;
use crate::fio::options::system::ClockSource;
use crate::fio::print;
use crate::notation;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    keyword(tier1(700), "clocksource", CLOCKSOURCE_WORDS).example("clock_gettime")
        .help("Accepted; fathom uses one monotonic clock.")
        .without_effect("fathom always uses one monotonic clock"),
    special(tier1(1680), "cpumask", special::parse_cpu_mask).example("3").help("CPUs as a bit mask.")
        .effects(&[("--cpumask=5", "worker.placement.cpus=[0,2]")]),
    special(tier1(1690), "cpus_allowed", |reader, text| special::parse_cpus(reader, field!(system.cpus_allowed), text))
        .example("0,2-5").help("CPUs as a list.")
        .lowers_with(lower::lower_cpus)
        .prints(|section| print::system::processors(section).map(|(list, _)| notation::format_cpus(&list)))
        .effects(&[("--cpus_allowed=0,2-4", "worker.placement.cpus=[0,2,3,4]")]),
    keyword(tier1(1700), "cpus_allowed_policy", system::CpuPolicy::WORDS).default("shared").example("split")
        .help("Whether clones share the CPUs, or have one each.")
        .prints(|section| print::system::processors(section).filter(|(_, split)| *split).map(|_| "split".into()))
        .effects(&[
            (
                "--cpus_allowed=4,6 --cpus_allowed_policy=split --numjobs=3",
                "job.workers.*.placement.cpus=[[4],[6],[4]]",
            ),
        ]),
    special(tier2(1710), "numa_cpu_nodes", special::parse_cpu_nodes).example("0").help("NUMA nodes whose CPUs are used.")
        .lowers_with(lower::lower_cpu_nodes)
        .prints(|section| {
            let nodes = notation::format_cpus(&section.worker().placement.cpu_nodes);
            Some(nodes).filter(|nodes| !nodes.is_empty())
        })
        .effects(&[("--numa_cpu_nodes=0-1,3", "worker.placement.cpu_nodes=[0,1,3]")]),
    special(tier2(1720), "numa_mem_policy", special::parse_memory_policy).example("bind:0").help("NUMA nodes whose memory is used.")
        .lowers_with(lower::lower_memory)
        .prints(|section| section.worker().placement.memory_nodes.as_ref().map(notation::format_memory_nodes))
        .effects(&[("--numa_mem_policy=bind:0,2", "worker.placement.memory_nodes={nodes:[0,2],policy:bind}")]),
    int(tier1(1360), field!(system.nice)).min(-20).max(19).default("0").example("5").help("Nice value.")
        .lowers_with(|draft| {
            draft.parts.worker.placement.nice = i8::try_from(draft.options.system.nice).ok().filter(|nice| *nice != 0);
        })
        .prints(|section| section.worker().placement.nice.map(|nice| nice.to_string()))
        .effects(&[("--nice=-5", "worker.placement.nice=-5")]),
    optional_int(tier2(1370), field!(system.prio)).min(0).max(7).example("4").help("Priority of operations.")
        .lowers_with(lower::lower_priority)
        .prints(|section| section.stream().priority.map(|priority| priority.level.to_string()))
        .effects(&[("--prio=4", "stream.priority.level=4; stream.priority.class=best_effort")]),
    optional_int(tier2(1380), field!(system.prioclass)).min(0).max(3).example("2")
        .help("Priority class of operations.")
        .prints(|section| section.stream().priority.map(|priority| print::engine::class_number(priority.class).to_string()))
        .effects(&[
            ("--prioclass=1", "stream.priority.class=real_time; stream.priority.percent=100"),
            ("--prioclass=3 --prio=2", "stream.priority.class=idle"),
        ]),
    optional_int(tier2(1390), field!(system.priohint)).min(0).max(1023).example("1")
        .help("Priority hint of operations.")
        .prints(|section| section.stream().priority.and_then(|priority| print::positive(u64::from(priority.hint))))
        .effects(&[
            // Without prioclass, the class is best effort.
            ("--priohint=5", "stream.priority={class:best_effort,hint:5,level:0,percent:100}"),
        ]),
    optional_int(tier2(2390), field!(system.uid)).min(0).max(u32::MAX as i64 - 1).example("1000")
        .help("User id for opening files.")
        .plan_field(field_of_plan!(OptionalCount: worker.placement.user))
        .effects(&[("--uid=1000", "worker.placement.user=1000")]),
    optional_int(tier2(2400), field!(system.gid)).min(0).max(u32::MAX as i64 - 1).example("1000")
        .help("Group id for opening files.")
        .plan_field(field_of_plan!(OptionalCount: worker.placement.group))
        .effects(&[("--gid=100", "worker.placement.group=100")]),
    optional_int(tier2(2290), field!(system.gtod_cpu)).example("0").help("CPU that reads the clock for all jobs.")
        .without_effect("reading the clock is cheap and needs no dedicated CPU"),
    text(tier2(2340), field!(system.cgroup)).example("fio")
        .help("Control group for block I/O, relative to the cgroup mount; created if missing.")
        .lowers_with(lower::lower_control_group)
        .prints(|section| Some(section.worker().placement.control_group.as_ref()?.path.clone()))
        .effects(&[("--cgroup=a/b", "worker.placement.control_group={keep:false,path:a/b,weight:null}")]),
    boolean(tier2(2350), field!(system.cgroup_nodelete)).default("0").example("1")
        .help("Keep the created control groups.")
        .prints(|section| print::on(section.worker().placement.control_group.as_ref()?.keep))
        .effects(&[("--cgroup=a --cgroup_nodelete=1", "worker.placement.control_group.keep=true")]),
    optional_int(tier2(2360), field!(system.cgroup_weight)).min(100).max(1000).example("500")
        .help("Weight of the control group.")
        .prints(|section| Some(section.worker().placement.control_group.as_ref()?.weight?.to_string()))
        .effects(&[("--cgroup=a --cgroup_weight=500", "worker.placement.control_group.weight=500")]),
    int(tier2(2370), field!(system.num_range)).max(256).default("1").example("4")
        .help("Ranges per trim; no engine supports more than one.").lowers_with(pattern::check_ranges),
    refused(tier3(2380), "gpu_dev_id", "int", "a GPU and an engine for it").default("0").example("0").help("Id \
        of the GPU."),
};

const CLOCKSOURCE_WORDS: &[Word] = &[
    Word::new("gettimeofday", "the wall clock", |job| {
        job.system.clocksource = Some(ClockSource::Gettimeofday)
    }),
    Word::new("clock_gettime", "the monotonic clock", |job| {
        job.system.clocksource = Some(ClockSource::ClockGettime)
    }),
    Word::new("cpu", "the CPU's cycle counter", |job| {
        job.system.clocksource = Some(ClockSource::Cpu)
    }),
];
