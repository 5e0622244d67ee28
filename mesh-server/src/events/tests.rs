//! Tests of event streams over records in memory.

mod lists;

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http::HeaderMap;
use hyper::body::Frame;
use mesh_plan::backend::{Either, MaybeReady};
use mesh_plan::{Answer, Change, Changes, Context, Mesh, Plan, Principal, ResolveError, Resolver, Rows};
use mesh_schema::{FieldType, JoinDocument, Schema};
use mesh_wire::sse::{Decoder, Event};
use mesh_wire::{RequestId, WireError};

use super::subscription::Subscription;
use super::{Hub, Subscriber};
use crate::ClientLimits;

/// Records in memory, with the number of readings.
#[derive(Default)]
struct Records {
    posts: Mutex<HashMap<i64, String>>,
    /// Start and end of each reading.
    readings: Mutex<Vec<(Instant, Instant)>>,
    reads: AtomicUsize,
    fails: AtomicBool,
    personal: AtomicBool,
}

impl Records {
    fn set(&self, id: i64, title: &str) {
        self.posts.lock().unwrap().insert(id, title.to_owned());
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }
}

#[derive(Clone)]
struct Source(Arc<Records>);

impl Resolver for Source {
    fn resolve<'a>(
        &'a self,
        plan: &'a Plan,
        context: &'a Context,
    ) -> MaybeReady<'a, Result<Answer, ResolveError>> {
        Either::Right(Box::pin(async move {
            self.0.reads.fetch_add(1, Ordering::SeqCst);
            let start = Instant::now();
            // A reading returns the data as it was when the reading started.
            let posts = self.0.posts.lock().unwrap().clone();
            tokio::time::sleep(Duration::from_millis(5)).await;
            self.0.readings.lock().unwrap().push((start, Instant::now()));
            if self.0.fails.load(Ordering::SeqCst) {
                return Err(ResolveError::new("out of order"));
            }
            let mut rows = Rows::new(plan);
            let key = match plan.target().id() {
                Some([mesh_plan::Value::Integer(id)]) => Some(*id),
                _ => None,
            };
            for (id, title) in posts.iter().filter(|(id, _)| key.is_none_or(|key| key == **id)) {
                let who = context.principal.as_ref().map(|who| who.user.clone());
                rows.root().push_with(|column| match column {
                    "title" => title.as_str().into(),
                    "who" => who.clone().into(),
                    _ => (*id).into(),
                });
            }
            Ok(rows.into())
        }))
    }

    fn is_personal(&self) -> bool {
        self.0.personal.load(Ordering::SeqCst)
    }
}

struct Setup {
    records: Arc<Records>,
    changes: Changes,
    hub: Hub,
}

fn setup() -> Setup {
    let schema = Schema::builder()
        .entity("post", |post| {
            post.field("id", FieldType::Integer)
                .field("title", FieldType::String)
                .field("who", FieldType::String)
        })
        .entity("comment", |comment| comment.field("id", FieldType::Integer))
        .relation("post.comments", JoinDocument::many("comment", "comments.post_id = posts.id"))
        .build()
        .unwrap();
    let records = Arc::new(Records::default());
    records.set(1, "one");
    records.set(2, "two");
    let mesh = Mesh::builder(schema).default_resolver(Source(Arc::clone(&records))).build().unwrap();
    let changes = Changes::new();
    let hub = hub(Arc::new(mesh), changes.clone(), Duration::from_secs(3_600));
    Setup { records, changes, hub }
}

fn hub(mesh: Arc<Mesh>, changes: Changes, heartbeat: Duration) -> Hub {
    let unread = Arc::clone(&ClientLimits::default().unread);
    Hub::new(mesh, changes, unread, heartbeat, Duration::from_secs(10))
}

fn request_id() -> RequestId {
    RequestId::from_headers(&HeaderMap::new(), [7; 16])
}

impl Setup {
    fn plan(&self, query: &str, id: &str) -> Plan {
        self.hub.mesh().plan(&mesh_plan::Request::point(mesh_ql::Format::Ql, query, id)).unwrap()
    }

    async fn subscribe(
        &self,
        query: &str,
        id: &str,
        subscriber: Subscriber,
    ) -> Result<Subscription, WireError> {
        let deadline = Instant::now() + Duration::from_secs(60);
        self.hub.subscribe(self.plan(query, id), subscriber, &request_id(), deadline).await
    }

    async fn open(&self, query: &str, id: &str) -> Client {
        Client::new(self.subscribe(query, id, Subscriber::default()).await.unwrap(), None)
    }

    fn write(&self, id: i64, title: &str) {
        self.records.set(id, title);
        self.changes.notify(Change::record("post", id.to_string()));
    }
}

type Frames = Pin<Box<dyn Stream<Item = Result<Frame<Bytes>, std::convert::Infallible>> + Send>>;

struct Client {
    frames: Frames,
    decoder: Decoder,
    events: std::collections::VecDeque<Event>,
    heartbeats: usize,
}

impl Client {
    fn new(subscription: Subscription, last_event_id: Option<&str>) -> Self {
        let frames = Box::pin(subscription.into_frames(last_event_id));
        Self { frames, decoder: Decoder::new(1 << 16), events: Default::default(), heartbeats: 0 }
    }

    /// Returns the next event; `None` at the end of the stream.
    async fn next(&mut self) -> Option<Event> {
        while self.events.is_empty() {
            let frame = self.frames.next().await?.unwrap().into_data().unwrap();
            self.heartbeats += usize::from(frame == mesh_wire::sse::heartbeat());
            self.events.extend(self.decoder.feed(&frame).unwrap());
        }
        self.events.pop_front()
    }

    async fn data(&mut self) -> String {
        let event =
            tokio::time::timeout(Duration::from_secs(5), self.next()).await.expect("an event").unwrap();
        assert_eq!(event.event, "update", "{event:?}");
        event.data
    }

    /// Returns whether no event arrives for a while.
    async fn is_silent(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(150), self.next()).await.is_err()
    }
}

async fn eventually(mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < end, "the condition does not hold within a minute");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn equal_streams_share_one_reading() {
    let setup = setup();
    let opening = (0..200).map(|_| setup.open("{ post title }", "1"));
    let mut clients = futures_util::future::join_all(opening).await;
    assert!(setup.records.reads() < 10, "{} readings for 200 streams", setup.records.reads());
    assert_eq!(setup.hub.counts(), (200, 1));
    for client in &mut clients {
        client.data().await;
    }
    let mut other = setup.open("{ post title id }", "1").await;
    other.data().await;
    let before = setup.records.reads();
    setup.write(1, "uno");
    for client in &mut clients {
        assert_eq!(client.data().await, r#"{"title":"uno"}"#);
    }
    assert_eq!(other.data().await, r#"{"title":"uno","id":1}"#);
    assert_eq!(setup.records.reads(), before + 2, "one for each distinct selection");
}

#[tokio::test]
async fn a_burst_of_changes_causes_few_readings_and_ends_with_the_latest() {
    let setup = setup();
    let mut client = setup.open("{ post title }", "1").await;
    client.data().await;
    let before = setup.records.reads();
    for number in 0..5_000 {
        setup.write(1, &number.to_string());
        if number % 500 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let mut data = String::new();
    while data != r#"{"title":"4999"}"# {
        data = client.data().await;
    }
    assert!(setup.records.reads() - before < 30, "{} readings", setup.records.reads() - before);
}

#[tokio::test]
async fn no_change_is_lost_between_subscribing_and_reading() {
    for delay in 0..40 {
        let setup = setup();
        let writing = async {
            tokio::time::sleep(Duration::from_micros(delay * 250)).await;
            setup.write(1, "uno");
        };
        let following = async {
            let mut client = setup.open("{ post title }", "1").await;
            while client.data().await != r#"{"title":"uno"}"# {}
        };
        tokio::join!(writing, following);
    }
}

#[tokio::test]
async fn a_new_stream_reads_the_current_data() {
    let setup = setup();
    let mut first = setup.open("{ post title }", "1").await;
    first.data().await;
    tokio::time::sleep(Duration::from_millis(80)).await;
    // A write whose notification has not arrived yet.
    setup.records.set(1, "uno");
    let mut second = setup.open("{ post title }", "1").await;
    assert_eq!(second.data().await, r#"{"title":"uno"}"#);
    assert_eq!(first.data().await, r#"{"title":"uno"}"#, "open streams get it too");
}

#[tokio::test]
async fn a_slow_client_skips_to_the_latest_data() {
    let setup = setup();
    let mut slow = setup.open("{ post title }", "1").await;
    slow.data().await;
    let mut quick = setup.open("{ post title }", "1").await;
    quick.data().await;
    for title in ["a", "b", "c"] {
        setup.write(1, title);
        assert_eq!(quick.data().await, format!(r#"{{"title":"{title}"}}"#));
    }
    assert_eq!(slow.data().await, r#"{"title":"c"}"#);
    assert!(slow.is_silent().await);
}

#[tokio::test]
async fn closed_streams_leave_nothing_behind() {
    let setup = setup();
    let mut clients = Vec::new();
    for _ in 0..10 {
        clients.push(setup.open("{ post title }", "1").await);
    }
    assert!(setup.changes.is_wanted());
    clients.truncate(1);
    assert_eq!(setup.hub.counts(), (1, 1));
    clients.clear();
    assert_eq!(setup.hub.counts(), (0, 0));
    eventually(|| !setup.changes.is_wanted()).await;
    let before = setup.records.reads();
    setup.write(1, "uno");
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(setup.records.reads(), before);
    // A later stream starts the machinery again.
    let mut client = setup.open("{ post title }", "1").await;
    assert_eq!(client.data().await, r#"{"title":"uno"}"#);
    setup.write(1, "dos");
    assert_eq!(client.data().await, r#"{"title":"dos"}"#);
}

#[tokio::test]
async fn a_failing_first_reading_is_an_error_reply() {
    let setup = setup();
    setup.records.fails.store(true, Ordering::SeqCst);
    let error = setup.subscribe("{ post title }", "1", Subscriber::default()).await.err().unwrap();
    assert_eq!(error, WireError::resolver());
    eventually(|| setup.hub.counts() == (0, 0)).await;
}

#[tokio::test]
async fn results_that_depend_on_the_principal_are_not_shared() {
    for (personal, readings) in [(true, 2), (false, 1)] {
        let setup = setup();
        setup.records.personal.store(personal, Ordering::SeqCst);
        let mut shown = Vec::new();
        let mut clients = Vec::new();
        for user in ["7", "8", "7"] {
            let principal = Some(Arc::new(Principal::new(user, format!("session of {user}"))));
            let subscriber = Subscriber { principal, ..Subscriber::default() };
            let subscription = setup.subscribe("{ post who }", "1", subscriber).await.unwrap();
            clients.push(Client::new(subscription, None));
            shown.push(clients.last_mut().unwrap().data().await);
        }
        assert_eq!(setup.hub.counts(), (3, readings));
        let expected = if personal { [Some("7"), Some("8"), Some("7")] } else { [None; 3] };
        assert_eq!(shown, expected.map(|who| serde_json::json!({ "who": who }).to_string()));
    }
}

#[tokio::test]
async fn streams_send_heartbeats_and_end_with_the_server() {
    let mut setup = setup();
    setup.hub = hub(Arc::clone(setup.hub.mesh()), setup.changes.clone(), Duration::from_millis(64));
    let mut client = setup.open("{ post title }", "1").await;
    client.data().await;
    assert!(client.is_silent().await);
    assert!((1..5).contains(&client.heartbeats), "{} heartbeats in 150 ms", client.heartbeats);
    setup.hub.close();
    assert_eq!(client.next().await, None);
    let refused = setup.subscribe("{ post title }", "1", Subscriber::default()).await.err().unwrap();
    assert_eq!(refused.status, http::StatusCode::SERVICE_UNAVAILABLE);
}
