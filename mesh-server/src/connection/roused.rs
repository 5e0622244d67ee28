//! What has to be looked at whenever a connection goes on? Nothing that has not called.
//!
//! A connection's task wakes for each request. The clock and the news of the server's end, which it waits for as well,
//! would be asked every time, for nothing; here they are asked when they have woken the task themselves.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// A future that is polled at first, and then whenever it has woken its task.
pub(super) struct Roused<F> {
    future: F,
    bell: Arc<Bell>,
    ringer: Waker,
    task: Option<Waker>,
}

struct Bell {
    rung: AtomicBool,
    /// Stays when it was woken, for the future may ring more than once before it has something to say.
    task: Mutex<Option<Waker>>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rung.store(true, Ordering::Release);
        if let Some(task) = &*self.task.lock().unwrap_or_else(PoisonError::into_inner) {
            task.wake_by_ref();
        }
    }
}

impl<F> Roused<F> {
    pub(super) fn new(future: F) -> Self {
        let bell = Arc::new(Bell { rung: AtomicBool::new(true), task: Mutex::new(None) });
        Self { future, ringer: Arc::clone(&bell).into(), bell, task: None }
    }
}

impl<F: Future + Unpin> Future for Roused<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        // Before the bell is looked at: what rings from now on wakes the task that polls now.
        if !this.task.as_ref().is_some_and(|task| task.will_wake(cx.waker())) {
            this.task = Some(cx.waker().clone());
            *this.bell.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        }
        if !this.bell.rung.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        // In one step: a ring that comes meanwhile is either seen by this poll, or leads to another.
        this.bell.rung.swap(false, Ordering::AcqRel);
        Pin::new(&mut this.future).poll(&mut Context::from_waker(&this.ringer))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use futures_util::FutureExt as _;
    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn it_is_polled_when_it_has_called() {
        let (called, mut polls) = (Notify::new(), 0);
        let mut notified = Box::pin(called.notified());
        let waiting = poll_fn(|cx| {
            polls += 1;
            notified.as_mut().poll(cx)
        });
        let mut roused = Roused::new(Box::pin(waiting));
        for _ in 0..10 {
            assert_eq!((&mut roused).now_or_never(), None);
        }
        called.notify_one();
        (&mut roused).await;
        drop(roused);
        assert_eq!(polls, 2, "at first, and when it was ready");
    }

    #[tokio::test]
    async fn it_may_call_for_nothing_before() {
        let called = Arc::new(Notify::new());
        let own = Arc::clone(&called);
        let mut roused = Roused::new(Box::pin(async move {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            own.notified().await;
        }));
        let waiting = tokio::spawn(poll_fn(move |cx| Pin::new(&mut roused).poll(cx)));
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        called.notify_one();
        tokio::time::timeout(std::time::Duration::from_secs(60), waiting).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn another_task_may_wait_for_it() {
        let called = Arc::new(Notify::new());
        let own = Arc::clone(&called);
        let mut roused = Roused::new(Box::pin(async move { own.notified().await }));
        assert_eq!((&mut roused).now_or_never(), None);
        let waiting = tokio::spawn(roused);
        tokio::task::yield_now().await;
        called.notify_one();
        waiting.await.unwrap();
    }
}
