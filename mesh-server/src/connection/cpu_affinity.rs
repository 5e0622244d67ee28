//! Binding of threads to CPUs. On systems other than Linux nothing is bound.

#[cfg(target_os = "linux")]
pub(super) use self::linux::*;
#[cfg(not(target_os = "linux"))]
pub(super) use self::other::*;

#[cfg(target_os = "linux")]
mod linux {
    use std::sync::OnceLock;

    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use tokio::net::TcpStream;

    /// The CPUs that the process could use before its first thread was pinned.
    static INITIAL_CPUS: OnceLock<CpuSet> = OnceLock::new();

    /// Returns the numbers of the CPUs that the current thread may run on.
    pub(in super::super) fn available_cpus() -> Vec<usize> {
        let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
        (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
    }

    /// Binds the current thread to one CPU. A failure is ignored: the thread works on any CPU.
    pub(in super::super) fn pin(cpu: usize) {
        if let Ok(set) = sched_getaffinity(None) {
            INITIAL_CPUS.get_or_init(|| set);
        }
        let mut one = CpuSet::new();
        one.set(cpu);
        let _ = sched_setaffinity(None, &one);
    }

    /// Lets the current thread run on all CPUs again. Threads inherit the affinity of the thread that starts them.
    pub(in super::super) fn unpin() {
        if let Some(all) = INITIAL_CPUS.get() {
            let _ = sched_setaffinity(None, all);
        }
    }

    /// Returns the CPU on which the packets of a connection arrive.
    pub(in super::super) fn incoming_cpu(stream: &TcpStream) -> Option<usize> {
        rustix::net::sockopt::socket_incoming_cpu(stream).ok()?.try_into().ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use tokio::net::TcpStream;

    pub(in super::super) fn available_cpus() -> Vec<usize> {
        Vec::new()
    }

    pub(in super::super) fn pin(_: usize) {}

    pub(in super::super) fn unpin() {}

    pub(in super::super) fn incoming_cpu(_: &TcpStream) -> Option<usize> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn threads_inherit_the_affinity_and_can_be_unpinned() {
        let before = available_cpus();
        let last = *before.last().unwrap();
        let (pinned, inherited, unpinned) = std::thread::spawn(move || {
            pin(last);
            let inherited = std::thread::spawn(available_cpus).join().unwrap();
            let unpinned = std::thread::spawn(|| {
                unpin();
                available_cpus()
            });
            (available_cpus(), inherited, unpinned.join().unwrap())
        })
        .join()
        .unwrap();
        assert_eq!((pinned, inherited), (vec![last], vec![last]));
        assert_eq!(unpinned, before);
        assert_eq!(available_cpus(), before, "other threads are not affected");
    }
}
