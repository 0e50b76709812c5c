//! Direction, order and offsets.

use super::row::*;
use super::special;
use crate::fio::lower::pattern as lower;
use crate::fio::options::pattern;
use crate::fio::print;
use crate::fio::values::Unit;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    keyword(tier1(100), "rw", pattern::Rw::WORDS).tail(special::parse_sequence).aliases(&["readwrite"]).default("read")
        .example("randrw").help("IO direction").prints(print::pattern::rw)
        .lowers_with(|draft| draft.parts.stream.mix = lower::mix(draft.options))
        .effects(&[
            (
                "--rw=randwrite",
                "stream.mix={direction:write,mix:only}; stream.pattern.access.*.pattern=[random]; \
                 stream.hint.random=true",
            ),
            ("--rw=trimwrite --size=1m", "stream.mix.mix=trim_then_write; job.stop.bytes=2097152"),
            (
                "--rw=write:8k",
                "stream.pattern.access.*.advance=[{by:length,skip:8192}]",
            ),
            ("--rw=randread:4", "stream.pattern.access.*.operations=[4]; stream.pattern.access.*.between=[continue]"),
            ("--rw=write --size=1m", "target.prepare.prepare=lay_out; target.prepare.content=null"),
            (
                "--rw=randread --zonemode=strided --zonesize=64k",
                "stream.pattern.access.*.pattern=[zones]; stream.pattern.access.0.within!=null",
            ),
            ("--rw=write --fsync=32", "stream.sync.every_writes=32"),
            (
                "--rw=randrw --ioengine=libaio --direct=1 --cmdprio_percentage=20,10 --cmdprio=1,2 --cmdprio_class=1,2",
                "stream.priorities=[{class:real_time,direction:read,hint:0,length:null,level:1,percent:20},\
                 {class:best_effort,direction:write,hint:0,length:null,level:2,percent:10}]",
            ),
            (
                "--rw=write --rate=10m,5m",
                "stream.pacing.rates.read=null; \
                 stream.pacing.rates.write={amount:5242880,catch_up:unlimited,per_ns:1000000000,phase_ns:0,\
                 process:linear,unit:bytes}",
            ),
            ("--rw=write --rate_min=1m", "job.control.*.direction=[write]"),
            ("--rw=write --verify=md5", "stream.verify.after_writes=true"),
            ("--rw=trimwrite --block_error_percentiles=1", "stream.on_error.block_lifetimes=true"),
        ]),
    keyword(tier1(220), "rw_sequencer", pattern::Sequencer::WORDS).default("sequential").example("identical")
        .help("Positions between two random ones with `rw=...:N`.").prints(print::pattern::rw_sequencer)
        .effects(&[("--rw=randread:4 --rw_sequencer=identical", "stream.pattern.access.*.between=[repeat]")]),
    int(tier1(1330), field!(pattern.rwmixread)).min(0).max(100).default("50").example("70")
        .help("Share of reads in a mixed job, in percent.")
        .then(|job| job.pattern.rwmixwrite = 100i64.saturating_sub(job.pattern.rwmixread))
        .effects(&[("--rw=randrw --rwmixread=70", "stream.mix.mix=drawn; stream.mix.write_percent=30.0")]),
    int(tier1(1340), field!(pattern.rwmixwrite)).min(0).max(100).default("50").example("30")
        .help("Share of writes in a mixed job, in percent.")
        .then(|job| job.pattern.rwmixread = 100i64.saturating_sub(job.pattern.rwmixwrite))
        .prints(print::pattern::rwmixwrite)
        .effects(&[("--rw=randrw --rwmixwrite=20", "stream.mix.mix=drawn; stream.mix.write_percent=20.0")]),
    removed(tier1(1350), "rwmixcycle").example("500").help("Removed from fio; using it is an error."),
    amount(tier1(310), field!(pattern.size)).example("1g")
        .help("Bytes of each clone over all its files; also the length of the region.").prints(print::files::total)
        .effects(&[
            (
                "--size=1m",
                "target.prepare.size=1048576; \
                 stream.region.length={align:0,bytes:1048576,percent:0.0,round_up:false}; job.stop.bytes=1048576",
            ),
            (
                "--filename=dev --bs=8k --size=50%",
                "stream.region.length.percent=50.0; stream.region.length.align=8192; job.stop.region_percent=100",
            ),
            ("--ioengine=null --size=1m", "target.kind={kind:nothing,size:1048576}"),
            // The remainder of 1 byte is less than a block.
            (
                "--nrfiles=3 --size=40k --bs=4k",
                "plan.targets.*.prepare.size=[13653,13653,13653]; stream.region.length.bytes=13653",
            ),
            // The remainder of two blocks goes to the first two files.
            ("--nrfiles=3 --size=32 --bs=1", "plan.targets.*.prepare.size=[11,11,10]; stream.region.length=null"),
            (
                "--rw=write --size=4m --dedupe_percentage=30 --dedupe_mode=working_set",
                "stream.content.working_set=51",
            ),
        ]),
    amount(tier1(320), field!(pattern.io_size)).aliases(&["io_limit"]).example("4g")
        .help("Bytes to transfer, if they differ from the size.").prints(print::job::io_size)
        .effects(&[
            (
                "--size=1m --io_size=4m",
                "job.stop.bytes=4194304; job.stop.passes=null; stream.region.length.bytes=1048576",
            ),
            ("--filename=dev --io_size=50%", "job.stop.region_percent=50"),
            (
                "--size=1m --io_size=2560k --loops=2",
                "job.stop.bytes=1048576; job.stop.passes=1; job.stop.rounds=3; stream.region.length.bytes=1048576",
            ),
        ]),
    amount(tier1(370), field!(pattern.offset)).aliases(&["fileoffset"]).min(0).default("0").example("25%")
        .help("Start of the region in the file.").prints(print::files::offset)
        .effects(&[
            (
                "--size=1m --offset=64k",
                "stream.region.base={align:0,bytes:65536,percent:0.0,round_up:false}; target.prepare.size=1114112",
            ),
            (
                "--filename=dev --offset=25% --bs=8k",
                "stream.region.base={align:8192,bytes:0,percent:25.0,round_up:true}",
            ),
            // A percentage of the file size before the extension: of 128 KiB.
            (
                "--filename=f --size=1m --offset=50%",
                "stream.region.base={align:0,bytes:65536,percent:0.0,round_up:false}; target.prepare.size=1114112",
            ),
            // The second clone sees the size that the first one set.
            (
                "--filename=f --size=1m --offset=50% --numjobs=2",
                "job.workers.*.streams.0.region.base.bytes=[65536,557056]",
            ),
        ]),
    amount(tier1(380), field!(pattern.offset_increment)).min(0).default("0").example("1g")
        .help("Added to the offset for each further clone.").prints(print::files::offset_increment)
        .effects(&[
            (
                "--filename=f --size=64k --offset_increment=1m --numjobs=2",
                "job.workers.*.streams.0.region.base.bytes=[0,1048576]",
            ),
            // The last clone extends the file first, so the percentages of the others are larger:
            // recorded from fio 3.33.
            (
                "--filename=g --filesize=1m --size=10% --offset_increment=10% --numjobs=4",
                "job.workers.*.streams.0.region.base.bytes=[0,32768,28672,16384]; target.prepare.size=135168",
            ),
        ]),
    int(tier2(390), field!(pattern.offset_align)).default("0").example("4k")
        .help("Alignment of an offset in percent.")
        .effects(&[("--filename=dev --offset=25% --offset_align=64k", "stream.region.base.align=65536")]),
    per_direction(tier1(110), field!(pattern.bs), Unit::Bytes).aliases(&["blocksize"]).min(1).default("4096")
        .example("4k,64k").help("Block size unit").lowers_with(lower::lower_positions).prints(print::pattern::bs)
        .effects(&[
            (
                "--bs=8k,16k",
                "stream.pattern.sizes.read.size=8192; stream.pattern.sizes.write.size=16384; \
                 stream.pattern.sizes.trim.size=16384",
            ),
            ("--size=1m --bs=64k", "target.prepare.block=65536"),
            ("--read_iolog=records --bs=512", "stream.cache.direct=false; stream.replay.trace=records"),
        ]),
    per_direction(tier1(120), field!(pattern.ba), Unit::Bytes).aliases(&["blockalign"]).min(1).example("4k")
        .help("Alignment of offsets; default: the smallest block size.").prints(print::pattern::blockalign)
        .effects(&[
            (
                "--rw=randread --bs=4k --ba=2k",
                "stream.pattern.alignment={read:2048,trim:2048,write:2048}; \
                 stream.pattern.access.*.placement.distribution=[uniform]",
            ),
        ]),
    special(tier1(130), "bsrange", special::block_range).aliases(&["blocksize_range"]).example("4k-64k")
        .help("Range of block sizes.").prints(print::pattern::bsrange)
        .effects(&[
            ("--bsrange=4k-64k", "stream.pattern.sizes.read={high:65536,low:4096,sizes:range,unaligned:false}"),
            ("--bsrange=8k-8k", "stream.pattern.sizes.read={size:8192,sizes:fixed}"),
        ]),
    special(tier1(140), "bssplit", special::block_split).example("4k/60:64k/40")
        .help("Block sizes with the percentage of each.").prints(print::pattern::bssplit)
        .effects(&[
            // Sorted by share, the rarest first.
            (
                "--bssplit=4k/60:64k/40",
                "stream.pattern.sizes.read.entries=[{percent:40.0,size:65536},{percent:60.0,size:4096}]",
            ),
        ]),
    flag(tier2(150), field!(pattern.bs_unaligned)).aliases(&["blocksize_unaligned"])
        .help("Block sizes need not be multiples of the smallest one.").prints(print::pattern::bs_unaligned)
        .effects(&[("--bsrange=4k-64k --bs_unaligned", "stream.pattern.sizes.read.unaligned=true")]),
    boolean(tier2(160), field!(pattern.bs_is_seq_rand)).default("0").example("1")
        .help("Use the read size for sequential operations, the write size for random ones.")
        .plan_field(field_of_plan!(Flag: stream.pattern.sizes_by_seq_rand))
        .effects(&[
            (
                "--rw=write --bs=4k,64k --bs_is_seq_rand=1",
                "stream.pattern.sizes_by_place=true; stream.pattern.sizes.read.size=4096; \
                 stream.pattern.sizes.write.size=65536",
            ),
        ]),
    boolean(tier1(170), field!(pattern.randrepeat)).aliases(&["allrandrepeat"]).default("1").example("0")
        .help("Use the same random numbers in every run.")
        .effects(&[
            (
                "--randrepeat=0 --nrfiles=3 --filesize=1m-8m --size=30m",
                "plan.targets.*.prepare.size!=[2105344,3330048,3227648]",
            ),
            ("--randrepeat=0", "plan.seed=7; worker.draws={form:per_purpose,number:1,seed:7}"),
        ]),
    optional_size(tier1(180), field!(pattern.randseed)).default("0x89").example("42")
        .help("Seed of the random numbers.").prints(|section| print::non_default(section.seed(), print::DEFAULT_SEED))
        .effects(&[
            (
                "--randseed=42 --nrfiles=3 --filesize=1m-8m --size=30m",
                "plan.targets.*.prepare.size!=[2105344,3330048,3227648]; plan.targets.*.path=[x.0.0,x.0.1,x.0.2]",
            ),
            ("--randseed=42", "plan.seed=42; worker.draws={form:per_purpose,number:1,seed:42}"),
            ("--randrepeat=0 --randseed=42", "plan.seed=42"),
        ]),
    flag(tier1(190), field!(pattern.norandommap)).help("Random offsets may repeat before all blocks were used.")
        .prints(print::pattern::norandommap)
        .effects(&[
            ("--rw=randwrite --norandommap --verify=md5", "stream.verify.any_seed=true"),
            (
                "--rw=randread --norandommap",
                "stream.pattern.access.*.placement=[{distribution:uniform,reduction:multiply_high32}]",
            ),
        ]),
    boolean(tier1(200), field!(pattern.softrandommap)).default("0").example("1")
        .help("Continue without a block map if memory is short.").prints(print::pattern::softrandommap)
        .effects(&[
            (
                "--rw=randread --softrandommap=1",
                "stream.pattern.access.*.placement.method=[{method:map,optional:true,reduction:multiply_high32}]",
            ),
        ]),
    keyword(tier1(410), "random_generator", pattern::Generator::WORDS).default("tausworthe").example("lfsr")
        .help("Generator of random offsets.")
        .effects(&[
            ("--rw=randread --random_generator=lfsr", "stream.pattern.access.*.placement.method.method=[bijection]"),
            (
                "--rw=randread --random_generator=tausworthe64",
                "stream.pattern.access.*.placement.method=[{method:map,optional:false,reduction:multiply_high64}]",
            ),
        ]),
    keyword(tier1(420), "random_distribution", pattern::DistributionName::WORDS).tail(special::parse_distribution)
        .default("random").example("zipf:1.2").help("Distribution of random offsets over the file.")
        .prints(print::pattern::random_distribution)
        .effects(&[
            (
                "--rw=randread --random_distribution=zipf:1.2:0.3",
                "stream.pattern.access.*.placement=[{center:0.3,distribution:zipf,theta:1.2}]",
            ),
            (
                "--rw=randread --random_distribution=pareto:0.3",
                "stream.pattern.access.*.placement=[{center:null,distribution:pareto,h:0.3}]",
            ),
            (
                "--rw=randread --random_distribution=normal:20",
                "stream.pattern.access.*.placement=[{center:0.5,deviation_percent:20.0,distribution:normal}]",
            ),
            (
                "--rw=randread --random_distribution=zoned:60/10:40/90",
                "stream.pattern.access.0.placement.basis=percent; \
                 stream.pattern.access.0.placement.shares.read=[{operations_percent:60.0,span:10.0},\
                 {operations_percent:40.0,span:90.0}]",
            ),
            (
                "--rw=randread --random_distribution=zoned_abs:60/1m:40/9m",
                "stream.pattern.access.0.placement.basis=bytes",
            ),
        ]),
    boolean(tier2(430), field!(pattern.random_sequence_stride)).default("0").example("1")
        .help("Start each round of the list one list length further.").prints(print::pattern::random_sequence_stride)
        .effects(&[
            (
                "--rw=randread --random_distribution=sequence:2,0,1 --random_sequence_stride=1",
                "stream.pattern.access.0.placement.blocks=[2,0,1]; stream.pattern.access.0.placement.moving=true",
            ),
        ]),
    per_direction(tier1(440), field!(pattern.percentage_random), Unit::Bytes).min(0).max(100)
        .default("100,100,100").example("50").help("Share of random operations, in percent.")
        .prints(print::pattern::percentage_random)
        .effects(&[
            (
                "--rw=randread --percentage_random=50,20",
                "stream.pattern.access.*.random_percent=[{read:50,trim:20,write:20}]",
            ),
        ]),
    removed(tier1(450), "percentage_sequential").example("50").help("Removed from fio; use percentage_random."),
};
