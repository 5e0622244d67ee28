//! Streams of lists, and the pause between readings.

use super::*;

impl Setup {
    /// Opens a stream of a list.
    async fn open_list(&self, query: &str) -> Client {
        let plan =
            self.hub.mesh().plan(&mesh_plan::Request::collection(mesh_ql::Format::Json, query)).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let subscription = self.hub.subscribe(plan, Subscriber::default(), &request_id(), deadline).await;
        Client::new(subscription.unwrap(), None)
    }
}

/// The titles of all posts.
const TITLES: &str = r#"{"post":{"$select":{"title":true}}}"#;

#[tokio::test]
async fn readings_for_changes_take_at_most_a_quarter_of_the_time() {
    let setup = setup();
    let _client = setup.open_list(TITLES).await;
    while setup.records.reads() < 6 {
        setup.changes.notify(Change::record("post", "1"));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let readings = setup.records.readings.lock().unwrap().clone();
    for pair in readings.windows(2) {
        let ((start, end), (next, _)) = (pair[0], pair[1]);
        assert!(next - end >= 3 * (end - start), "{:?} after a reading of {:?}", next - end, end - start);
    }
}

#[tokio::test]
async fn a_new_stream_does_not_wait_for_the_pause_after_a_reading() {
    let mut setup = setup();
    setup.hub.set_pause_factor(1_000_000);
    let mut first = setup.open_list(TITLES).await;
    first.data().await;
    setup.write(1, "uno");
    assert!(first.is_silent().await, "the pause lasts for more than an hour");
    let mut second = setup.open_list(TITLES).await;
    let data = second.data().await;
    assert!(data.contains("uno"), "{data}");
    assert_eq!(first.data().await, data);
    let before = setup.records.reads();
    setup.open_list(TITLES).await.data().await;
    assert_eq!(setup.records.reads(), before, "without a change, the latest result will do");
}
