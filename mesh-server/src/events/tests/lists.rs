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
async fn a_stream_of_a_list_sends_the_page_whenever_it_differs() {
    let setup = setup();
    let query = r#"{"post":{"$select":{"title":true},"$where":{"field":"id","op":"gt","value":1},"$page":{"first":1}}}"#;
    let mut client = setup.open_list(query).await;
    let items = async |client: &mut Client| {
        serde_json::from_str::<serde_json::Value>(&client.data().await).unwrap()["items"].to_string()
    };
    assert_eq!(items(&mut client).await, r#"[{"title":"two"}]"#);
    setup.write(2, "dos");
    assert_eq!(items(&mut client).await, r#"[{"title":"dos"}]"#);
    // A record before the list, and one after the page.
    setup.write(1, "uno");
    assert!(client.is_silent().await);
    setup.write(3, "tres");
    let page: serde_json::Value = serde_json::from_str(&client.data().await).unwrap();
    assert_eq!(page["items"].to_string(), r#"[{"title":"dos"}]"#);
    assert_eq!(page["pageInfo"]["hasNextPage"], true, "the page says so");
    setup.records.posts.lock().unwrap().remove(&2);
    setup.changes.notify(Change::record("post", "2"));
    assert_eq!(items(&mut client).await, r#"[{"title":"tres"}]"#);
    setup.changes.notify(Change::entity("comment"));
    let before = setup.records.reads();
    assert!(client.is_silent().await);
    assert_eq!(setup.records.reads(), before, "changes of other entities cause no reading");
}

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
