//! `concatenatesds=yes`: the SDs of a workload as one long SD.
//!
//! A random workload has a stream for each SD, weighted by its part of the region: positions are
//! distributed as over one long SD. A sequential workload goes through the SDs one after another.

use model::access::{Access, Advance, AtEnd, Sequential};
use model::plan::{Extent, FileService, Job, Region, Step, Stop, Stream, StreamTarget, TargetId};

use super::definitions::{Sd, Wd};
use super::lower::{
    JobLabel, Lowering, create_worker, derive_seed, end_on_failure, has_unenforced_shares, share_by_counting,
};
use super::runs::Run;
use super::streams::{Piece, access, mix, range_bytes, sizes, stream, too_small};
use crate::Diagnostic;

impl Lowering<'_> {
    /// The step of a run on concatenated SDs: a job for each workload, because threads are those of
    /// the WD. Threads of the RD belong to all workloads together, so then there is one job.
    pub(super) fn concatenated_step(&mut self, run: &Run) -> Result<(), Diagnostic> {
        run.sds.iter().try_for_each(|sd| self.check_concatenated(run, sd))?;
        let is_ending = |wd: &Wd| wd.seekpct < 0;
        let ends = run.workloads.iter().any(|(wd, _)| is_ending(wd));
        if ends && !run.workloads.iter().all(|(wd, _)| is_ending(wd)) {
            let message = "`seekpct=eof` together with other work on concatenated SDs";
            return Err(run.unsupported(message, "move it to a separate run"));
        }
        let all: Vec<usize> = (0..run.workloads.len()).collect();
        let groups: Vec<&[usize]> = match run.has_threads_loop {
            true => vec![&all[..]],
            false => all.chunks(1).collect(),
        };
        let count = groups.len() as u64;
        let mut jobs = Vec::new();
        for (number, group) in (0..).zip(groups) {
            let (first, _) = &run.workloads[group[0]];
            let is_sequential = first.seekpct <= 0;
            if group
                .iter()
                .any(|index| (run.workloads[*index].0.seekpct <= 0) != is_sequential)
            {
                let message = "`threads=` of the RD for random and sequential WDs on concatenated SDs";
                return Err(run.unsupported(message, "set `threads=` in each WD"));
            }
            let threads = match run.has_threads_loop {
                true => run.sds[0].threads,
                false => first.threads.ok_or_else(|| missing_threads(first))?,
            };
            let (mut streams, mut workloads) = (Vec::new(), Vec::new());
            for index in group {
                let (wd, share) = &run.workloads[*index];
                let streams_of_workload = self.concatenated_streams(run, wd, *share, *index as u64)?;
                workloads.extend(streams_of_workload.iter().map(|_| *index));
                streams.extend(streams_of_workload);
            }
            streams.iter_mut().for_each(|stream| stream.depth = threads);
            let seed = derive_seed(self.seed, self.steps.len() as u64 * 4096 + number);
            jobs.push(Job {
                name: first.name.clone(),
                phases: run.phases(run.ends_with_data()),
                stop: Stop {
                    passes: is_sequential.then_some(1),
                    repeat_until_time: is_sequential && !ends,
                    ..self.build_stop(run, count)?
                },
                workers: vec![create_worker(streams, threads, seed)],
                ..Job::default()
            });
            self.job_labels.push(JobLabel::default());
            self.workload_of.push(vec![workloads]);
        }
        if has_unenforced_shares(run) && jobs.len() > 1 {
            let workers = jobs.iter_mut().flat_map(|job| &mut job.workers);
            workers.for_each(|worker| share_by_counting(worker, None));
        }
        end_on_failure(&mut jobs);
        self.steps.push(Step { jobs, prepare: None });
        Ok(())
    }

    /// Refuses an SD that cannot be a part of a long one.
    fn check_concatenated(&self, run: &Run, sd: &Sd) -> Result<(), Diagnostic> {
        if sd.offset > 0 || sd.align > 0 || sd.range.is_some() {
            let message = format!(
                "`offset=`, `align=` or `range=` of sd={} with `concatenatesds=yes`",
                sd.name
            );
            return Err(run.unsupported(&message, "leave it out; the WD can have a `range=` of the whole"));
        }
        let general = &self.parameters.general;
        if self.parameters.validation.is_some() || general.format == Some(true) {
            let message = "data validation or `formatsds=yes` with `concatenatesds=yes`";
            return Err(run.unsupported(message, "leave one of them out"));
        }
        let size = self.sd_size(sd)?;
        match self.env.read_size(&sd.lun) {
            Some(present) if present < size => {
                let message = "File creation or expansion not supported for SD concatenation";
                Err(Diagnostic::new(message).help(format!("create {} with {size} bytes before", sd.lun)))
            }
            _ => Ok(()),
        }
    }

    fn concatenated_streams(
        &mut self,
        run: &Run,
        wd: &Wd,
        share: f64,
        generator: u64,
    ) -> Result<Vec<Stream>, Diagnostic> {
        let unsupported = [
            (wd.hits != (0.0, 0.0), "`rhpct=` or `whpct=`"),
            (wd.stride.is_some(), "`stride=`"),
            (wd.streams.is_some(), "`streams=`"),
            (wd.poisson.is_some(), "`poisson` or `hotband=`"),
            ((1..100).contains(&wd.seekpct), "a `seekpct=` between 0 and 100"),
            (wd.seekpct <= 0 && wd.range.is_some(), "a `range=` of sequential work"),
            (
                wd.seekpct <= 0 && run.maxdata.is_some(),
                "`maxdata=` with sequential work",
            ),
        ];
        if let Some((_, what)) = unsupported.iter().find(|(is_set, _)| *is_set) {
            let message = format!("{what} of wd={} with `concatenatesds=yes`", wd.name);
            return Err(run.unsupported(&message, "leave it out, or use SDs without concatenation"));
        }
        let mut parts = Vec::new();
        for sd in run.sds.iter().filter(|sd| wd.sds.contains(&sd.name)) {
            let size = self.sd_size(sd)?;
            parts.push((sd, size, self.prepare_target(sd, size, None)));
        }
        match wd.seekpct {
            100.. => self.random_streams(run, wd, (share, generator), &parts),
            _ => self.sequential_stream(run, wd, (share, generator), &parts),
        }
    }

    /// A stream for each part of the long SD that the region covers.
    fn random_streams(
        &self,
        run: &Run,
        wd: &Wd,
        (share, generator): (f64, u64),
        parts: &[(&Sd, u64, TargetId)],
    ) -> Result<Vec<Stream>, Diagnostic> {
        let total: u64 = parts.iter().map(|(_, size, _)| size).sum();
        let block = parts
            .iter()
            .map(|(sd, ..)| self.max_transfer_size(sd, wd))
            .max()
            .unwrap_or(512);
        let (low, high) = range_bytes(wd.range.unwrap_or((0.0, 100.0)), total);
        if high as u64 > total {
            return Err(run.unsupported("a `range=` beyond the end of concatenated SDs", "use at most 100 %"));
        }
        // As in Vdbench, the first block of the long SD is never used.
        let (low, high) = ((low as u64).max(block), high as u64);
        let mut start = 0;
        let mut regions = Vec::new();
        for (sd, size, target) in parts {
            let inside = |position: u64| position.clamp(start, start + size) - start;
            let (from, to) = (inside(low).next_multiple_of(block), inside(high) / block * block);
            if to > from {
                regions.push((*sd, *target, from, to - from));
            }
            start += size;
        }
        let length: u64 = regions.iter().map(|(.., length)| length).sum();
        if length < 2 * block {
            return Err(too_small(&format!("wd={}", wd.name), block));
        }
        let mut streams = Vec::new();
        for (sd, target, from, bytes) in regions {
            for (of_sizes, sizes, align) in sizes(run, sd, wd, true)? {
                let piece = Piece {
                    share: of_sizes * bytes as f64 / length as f64,
                    region: (from, bytes),
                    mix: mix(f64::from(wd.rdpct)),
                    access: access(run, wd)?,
                    sizes,
                    align,
                };
                streams.push(stream(run, sd, wd, target, share * piece.share, generator, piece));
            }
        }
        Ok(streams)
    }

    /// One position that goes through all SDs in order, and begins again after the last.
    fn sequential_stream(
        &self,
        run: &Run,
        wd: &Wd,
        (share, generator): (f64, u64),
        parts: &[(&Sd, u64, TargetId)],
    ) -> Result<Vec<Stream>, Diagnostic> {
        let is_whole =
            |(sd, size, _): &(&Sd, u64, TargetId)| self.env.read_size(&sd.lun).is_none_or(|present| present == *size);
        if let Some((sd, ..)) = parts.iter().find(|part| !is_whole(part)) {
            let message = format!(
                "sequential work on concatenated SDs with a `size=` below that of {}",
                sd.lun
            );
            return Err(run.unsupported(&message, &format!("leave `size=` out in sd={}", sd.name)));
        }
        let (sd, total) = (parts[0].0, parts.iter().map(|(_, size, _)| size).sum());
        let has_same_flags = parts.iter().all(|(part, ..)| part.flags == sd.flags);
        if run.flags.is_empty() && wd.flags.is_empty() && !has_same_flags {
            let message = "sequential work on concatenated SDs with different `openflags=`";
            return Err(run.unsupported(message, "set `openflags=` in the WD or RD"));
        }
        // Sequential work has one entry.
        let (_, block_sizes, align) = sizes(run, sd, wd, false)?.remove(0);
        let piece = Piece {
            share: 1.0,
            region: (0, total),
            mix: mix(f64::from(wd.rdpct)),
            access: Access::Sequential(Sequential {
                advance: Advance::Length { skip: 0 },
                at_end: AtEnd::Finish,
                ..Sequential::default()
            }),
            sizes: block_sizes,
            align,
        };
        let targets: Vec<TargetId> = parts.iter().map(|(.., target)| *target).collect();
        Ok(vec![Stream {
            target: StreamTarget::files(targets.clone(), targets.len() as u32, FileService::Sequential, 1),
            region: Region {
                base: Extent::bytes(0),
                length: None,
            },
            ..stream(run, sd, wd, targets[0], share, generator, piece)
        }])
    }
}

fn missing_threads(wd: &Wd) -> Diagnostic {
    let message = format!(
        "wd={}: for SD concatenation each WD must request a threads= value, unless overridden by the RD threads= or \
         forthreads= parameter",
        wd.name
    );
    Diagnostic::new(message).help(format!("set `threads=` in wd={}", wd.name))
}
