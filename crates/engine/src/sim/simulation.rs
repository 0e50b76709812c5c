//! The simulated devices of a run, and the order in which workers use them.
//!
//! This is a conservative discrete-event simulation. An operation's completion time is computed on
//! arrival, so operations must arrive in the order of simulated time, regardless of how the system
//! schedules threads. Every worker has its own clock. Only one worker has the *turn*: the one with
//! the earliest clock, or the lowest number among equal clocks. It keeps the turn until its clock
//! has passed another worker's. So all shared state, not only the device, is used in the same order
//! in every run.
//!
//! A worker that ends does not pass on its turn. The coordinator can therefore start and stop jobs
//! before it calls [`Simulation::resume`].

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use model::Nanos;
use model::plan::{SimulatedDevice, SimulatedPause};

use super::device::Device;
use super::not_simulated;
use crate::error::EngineError;

/// The simulated devices of a run, shared by all workers that use them.
#[derive(Clone, Debug)]
pub struct Simulation(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    devices: Vec<Device>,
    /// Workers of the current step.
    workers: Vec<Worker>,
    /// The worker that may run; `None` while the coordinator starts or ends jobs.
    turn: Option<usize>,
    /// When the current step began.
    step_start: Nanos,
}

#[derive(Debug)]
struct Worker {
    clock: Nanos,
    status: Status,
    /// Wakes its thread when it gets the turn.
    wake: Arc<Condvar>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// It uses no simulated device, or is not set up yet.
    NotRegistered,
    /// It is set up and waits for the start of its job.
    Ready,
    Running,
    Ended,
}

/// A worker's handle of a simulation.
#[derive(Clone, Debug)]
pub struct SimulatedWorker {
    simulation: Simulation,
    number: u32,
    /// Devices that it uses.
    devices: Vec<u32>,
    wake: Arc<Condvar>,
}

/// Facts about its devices that a worker needs.
pub(super) struct DeviceFacts {
    pub(super) now: Nanos,
    pub(super) host_pauses: Vec<SimulatedPause>,
    pub(super) inline: bool,
}

/// A worker's turn: the right to run.
pub(super) struct Turn<'a> {
    /// `None` only while it waits.
    state: Option<MutexGuard<'a, State>>,
    worker: &'a SimulatedWorker,
}

impl Simulation {
    /// Creates devices at time zero. Workers refer to them by index.
    pub fn new(devices: impl IntoIterator<Item = SimulatedDevice>) -> Simulation {
        Simulation(Arc::new(Mutex::new(State {
            devices: devices.into_iter().map(Device::new).collect(),
            workers: Vec::new(),
            turn: None,
            step_start: Nanos(0),
        })))
    }

    /// Creates one device for one worker, which needs no coordinator.
    pub fn for_one_worker(device: SimulatedDevice) -> SimulatedWorker {
        let simulation = Simulation::new([device]);
        simulation.begin_step(1);
        let worker = simulation.worker(0, vec![0]);
        {
            let mut state = simulation.lock();
            (state.workers[0].status, state.turn) = (Status::Running, Some(0));
        }
        worker
    }

    /// Begins a step with this many workers. Devices keep their state, and time continues from the
    /// latest clock of the previous step.
    pub fn begin_step(&self, workers: usize) {
        let mut state = self.lock();
        let clocks = state.workers.iter().map(|worker| worker.clock);
        state.step_start = clocks.max().unwrap_or_default().max(state.step_start);
        let clock = state.step_start;
        let worker = || Worker {
            clock,
            status: Status::NotRegistered,
            wake: Arc::default(),
        };
        state.workers = std::iter::repeat_with(worker).take(workers).collect();
        state.turn = None;
    }

    /// The handle of a worker of this step, by its number, for these devices.
    pub fn worker(&self, number: u32, devices: Vec<u32>) -> SimulatedWorker {
        let wake = Arc::clone(&self.lock().workers[number as usize].wake);
        SimulatedWorker {
            simulation: self.clone(),
            number,
            devices,
            wake,
        }
    }

    /// Starts workers; each runs when its turn comes. Returns the simulated start time.
    pub fn start(&self, workers: Range<usize>) -> Nanos {
        let mut state = self.lock();
        let now = state.now();
        for worker in &mut state.workers[workers] {
            if worker.status == Status::Ready {
                (worker.status, worker.clock) = (Status::Running, now);
            }
        }
        now
    }

    /// Resumes after workers have started or ended. `ended`: all workers whose threads have ended.
    pub fn resume(&self, ended: impl IntoIterator<Item = usize>) {
        let mut state = self.lock();
        for number in ended {
            state.workers[number].status = Status::Ended;
        }
        let is_running = |turn: usize| state.workers[turn].status == Status::Running;
        if !state.turn.is_some_and(is_running) {
            state.pass_turn();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic ends only the panicking worker; the others continue.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The earliest clock of all workers: the clock of the current or last turn.
    fn now(&self) -> Nanos {
        self.turn.map_or(self.step_start, |turn| self.workers[turn].clock)
    }

    /// The running worker with the earliest clock.
    fn earliest(&self) -> Option<usize> {
        let running = self.workers.iter().zip(0..);
        let running = running.filter(|(worker, _)| worker.status == Status::Running);
        // The first of several is the one with the lowest number.
        running.min_by_key(|(worker, _)| worker.clock).map(|(_, number)| number)
    }

    /// Passes the turn to the worker with the earliest clock.
    fn pass_turn(&mut self) {
        if let Some(first) = self.earliest() {
            self.turn = Some(first);
            self.workers[first].wake.notify_all();
        }
    }
}

impl SimulatedWorker {
    /// Waits for this worker's turn, after its job has started. Returns the time.
    pub fn wait_for_turn(&self) -> Nanos {
        self.turn().clock()
    }

    /// Registers the worker with its devices.
    pub(super) fn register(&self, seed: u64) -> DeviceFacts {
        let mut state = self.simulation.lock();
        let worker = &mut state.workers[self.number as usize];
        if worker.status == Status::NotRegistered {
            worker.status = Status::Ready;
        }
        let mut setup = DeviceFacts {
            now: worker.clock,
            host_pauses: Vec::new(),
            inline: false,
        };
        for (place, number) in (0..).zip(&self.devices) {
            let Some(device) = state.devices.get_mut(*number as usize) else {
                continue;
            };
            // Each device of a worker has its own seed; the first device uses the worker's.
            let seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(place));
            device.offer_seed(self.number, seed);
            setup.host_pauses.extend(&device.plan().host_pauses);
            setup.inline |= device.plan().inline;
        }
        if self.devices.len() > 1 {
            setup.host_pauses.sort_by_key(|pause| pause.at_ns);
        }
        setup
    }

    /// Waits for the turn of this worker.
    pub(super) fn turn(&self) -> Turn<'_> {
        let mut turn = Turn {
            state: Some(self.simulation.lock()),
            worker: self,
        };
        turn.wait();
        turn
    }
}

impl Turn<'_> {
    /// The clock of the worker.
    pub(super) fn clock(&mut self) -> Nanos {
        let number = self.worker.number as usize;
        self.state().workers[number].clock
    }

    pub(super) fn device(&mut self, number: u32) -> Result<&mut Device, EngineError> {
        self.state().devices.get_mut(number as usize).ok_or_else(not_simulated)
    }

    /// Advances the worker's clock, and waits until no other worker is behind it.
    pub(super) fn advance(&mut self, now: Nanos) {
        let number = self.worker.number as usize;
        let state = self.state();
        if state.workers[number].clock == now {
            return;
        }
        state.workers[number].clock = now;
        if state.workers.len() > 1 && state.earliest() != Some(number) {
            state.pass_turn();
            self.wait();
        }
    }

    fn wait(&mut self) {
        let worker = self.worker;
        let turn = Some(worker.number as usize);
        let mut state = self.state.take().unwrap_or_else(|| worker.simulation.lock());
        while state.turn != turn {
            state = worker.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.state = Some(state);
    }

    fn state(&mut self) -> &mut State {
        self.state.get_or_insert_with(|| self.worker.simulation.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Workers of one step that are set up and started; the coordinator has yet to resume.
    fn started(count: u32) -> (Simulation, Vec<SimulatedWorker>) {
        let simulation = Simulation::new([SimulatedDevice::default()]);
        simulation.begin_step(count as usize);
        let workers: Vec<_> = (0..count).map(|number| simulation.worker(number, vec![0])).collect();
        // The system decides in which order threads are set up.
        for worker in workers.iter().rev() {
            worker.register(u64::from(worker.number));
        }
        simulation.start(0..count as usize);
        (simulation, workers)
    }

    #[test]
    fn workers_run_in_the_order_of_clock_and_number() {
        let (simulation, workers) = started(3);
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for worker in &workers {
                let order = &order;
                scope.spawn(move || {
                    let mut turn = worker.turn();
                    let step = Nanos(6 / u64::from(worker.number + 1));
                    while turn.clock() < Nanos(12) {
                        let next = turn.clock() + step;
                        order.lock().unwrap().push((turn.clock().0, worker.number));
                        turn.advance(next);
                    }
                    // Put this worker far ahead of the others, so that they never wait for it.
                    turn.state().workers[worker.number as usize].clock = Nanos::NEVER;
                    turn.state().pass_turn();
                });
            }
            simulation.resume([]);
        });
        let order = order.into_inner().unwrap();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(order.len(), 2 + 4 + 6);
        assert_eq!(order, sorted);
    }

    #[test]
    fn the_seed_of_the_lowest_worker_is_used() {
        let (simulation, _) = started(3);
        let mut state = simulation.lock();
        let mut device = Device::new(SimulatedDevice::default());
        device.offer_seed(0, 0);
        assert_eq!(format!("{:?}", state.devices[0]), format!("{device:?}"));
        state.devices[0].offer_seed(1, 77);
        assert_eq!(format!("{:?}", state.devices[0]), format!("{device:?}"));
    }

    #[test]
    fn other_workers_continue_after_a_panic() {
        let (simulation, workers) = started(2);
        simulation.resume([]);
        let first = workers[0].clone();
        let handle = std::thread::spawn(move || {
            let mut turn = first.turn();
            turn.advance(Nanos(0));
            panic!("intended by the test");
        });
        assert!(handle.join().is_err());
        let second = workers[1].clone();
        let handle = std::thread::spawn(move || {
            let mut turn = second.turn();
            turn.advance(Nanos(5));
            turn.clock()
        });
        simulation.resume([0]);
        assert_eq!(handle.join().unwrap(), Nanos(5));
        // The next step starts at the time at which this one ended.
        simulation.begin_step(1);
        let worker = simulation.worker(0, vec![0]);
        assert_eq!(worker.register(1).now, Nanos(5));
        assert_eq!(simulation.start(0..1), Nanos(5));
    }

    #[test]
    fn a_worker_that_has_ended_keeps_the_turn_until_the_coordinator_resumes() {
        let (simulation, workers) = started(2);
        simulation.resume([]);
        workers[0].turn().advance(Nanos(0));
        // Its thread has ended, and a job that waited for it starts.
        assert_eq!(simulation.lock().turn, Some(0));
        assert_eq!(simulation.start(0..0), Nanos(0));
        simulation.resume([0]);
        assert_eq!(simulation.lock().turn, Some(1));
    }
}
