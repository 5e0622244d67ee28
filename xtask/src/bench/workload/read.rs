//! The reads and writes of workloads: their queries, and the hand-written servers for them.

use std::borrow::Cow;

use mesh_tests::Request;

use crate::bench::request::Variant::{self, Group, Joined, Json, Levels, Nested, Rows};

/// The database of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Scalars of one post.
    Scalars,
    /// A post with author, comments and their authors.
    Nested,
    /// The newest posts with their authors.
    Newest,
    /// The newest posts with their authors, their comments, and the authors of the comments.
    Deep,
    /// The newest posts with their tags.
    Tags,
    /// An employee with two levels of managers and of reports.
    Tree,
    /// A page of rows with many columns.
    Wide,
    /// Groups of the products of a supplier.
    Groups,
    /// The newest posts with a comment by a user.
    Some,
    /// The users all of whose posts have at least a given number of views.
    Every,
    /// The posts of a user, most commented first.
    Busiest,
    /// The newest comments of a user, with the number of all of them.
    Total,
    /// The comments of a user by the titles of their posts.
    Path,
    /// The last page of the newest posts.
    Backward,
    /// Scalars of one post, whose id is a parameter.
    Param,
    /// The first posts whose title has a word.
    Search,
    /// Numbers of posts by month.
    Buckets,
    /// Several posts with one request.
    Batch,
    /// All posts as lines of JSON.
    Export,
    /// Changes a post.
    Update,
    /// Creates a comment of a post.
    Create,
    /// Creates a thousand users.
    Bulk,
    /// A page of posts in index order.
    Page { first: u32 },
    /// Pages of this many posts in index order, spread over the whole table, so that pages of any size read the same data.
    Rows(u32),
    /// Distinct reads: ids, queries and cursors.
    Many,
}

impl Read {
    /// Whether each request has a record.
    pub(crate) fn has_record(self) -> bool {
        matches!(
            self,
            Self::Scalars
                | Self::Nested
                | Self::Tree
                | Self::Groups
                | Self::Some
                | Self::Every
                | Self::Busiest
                | Self::Total
                | Self::Path
                | Self::Param
                | Self::Batch
                | Self::Rows(_)
                | Self::Update
                | Self::Create
        )
    }

    /// Whether the query contains one of a few records, as a parameter or in its text.
    pub(crate) fn has_record_in_query(self) -> bool {
        (self.is_parametric() && self != Self::Param) || matches!(self, Self::Rows(_))
    }

    /// Whether the record is a parameter of the query.
    pub(crate) fn is_parametric(self) -> bool {
        matches!(
            self,
            Self::Groups | Self::Some | Self::Every | Self::Busiest | Self::Total | Self::Path | Self::Param
        )
    }

    /// Returns the parameters of the query.
    pub(crate) fn params(self, id: u32) -> Option<String> {
        let value = if self == Self::Every { id * 1_000 } else { id };
        self.is_parametric().then(|| format!(r#"{{"value":{value}}}"#))
    }

    pub(crate) fn is_write(self) -> bool {
        matches!(self, Self::Update | Self::Create | Self::Bulk)
    }

    /// Returns the name of the read in the hand-written servers.
    pub(crate) fn peer(self) -> Cow<'static, str> {
        let name = match self {
            Self::Rows(first) => return format!("rows{first}").into(),
            Self::Scalars => "w1",
            Self::Nested => "w2",
            Self::Newest => "w3",
            Self::Deep => "w4",
            Self::Tags => "tags",
            Self::Tree => "tree",
            Self::Wide => "wide",
            Self::Groups => "groups",
            Self::Some => "some",
            Self::Every => "every",
            Self::Busiest => "busiest",
            Self::Total => "total",
            Self::Path => "path",
            Self::Backward => "backward",
            Self::Param => "param",
            Self::Search => "search",
            Self::Buckets => "buckets",
            Self::Batch => "batch5",
            Self::Export => "export",
            Self::Update => "update",
            Self::Create => "create",
            Self::Bulk => "bulk",
            Self::Page { .. } | Self::Many => "",
        };
        name.into()
    }

    /// Returns the hand-written servers.
    pub(crate) fn variants(self, engine: Engine) -> &'static [Variant] {
        match (self, engine) {
            (Self::Scalars | Self::Wide | Self::Groups, _) | (Self::Newest, Engine::Postgres) => {
                &[Joined, Json]
            }
            (Self::Nested | Self::Tree, Engine::Sqlite) => &[Nested, Joined, Rows, Json],
            (Self::Newest, Engine::Sqlite) => &[Nested, Joined, Json],
            (Self::Deep, Engine::Sqlite) => &[Nested, Joined, Levels, Rows, Json],
            (Self::Tags, Engine::Sqlite) => &[Joined, Levels, Json],
            (Self::Nested | Self::Deep | Self::Tags | Self::Tree, Engine::Postgres) => &[Rows, Levels, Json],
            (Self::Some | Self::Busiest | Self::Total, _) => &[Nested, Joined],
            (Self::Path, _) => &[Nested, Joined, Levels],
            (Self::Backward, _) => &[Nested, Joined],
            (Self::Every, _) => &[Nested],
            (Self::Batch, _) => &[Joined, Rows],
            (Self::Param | Self::Search | Self::Buckets | Self::Export, _) => &[Joined],
            (Self::Update | Self::Create, Engine::Sqlite) => &[Joined, Group],
            (Self::Bulk, Engine::Sqlite) => &[Joined, Rows, Json, Group],
            (Self::Update | Self::Create | Self::Bulk | Self::Rows(_), _) => &[Joined],
            (Self::Page { .. } | Self::Many, _) => &[],
        }
    }

    /// Returns the path on the server.
    pub(crate) fn path(self, id: u32) -> String {
        match self {
            Self::Scalars | Self::Nested | Self::Update => format!("/mesh/post/{id}"),
            Self::Tree => format!("/mesh/employee/{id}"),
            Self::Create => format!("/mesh/post/{id}/comments"),
            Self::Wide | Self::Groups => "/mesh/product".to_owned(),
            Self::Every | Self::Bulk => "/mesh/user".to_owned(),
            Self::Total | Self::Path => "/mesh/comment".to_owned(),
            _ => "/mesh/post".to_owned(),
        }
    }

    /// Turns a request into the write or the export, for the server and for hand-written ones.
    pub(crate) fn complete(self, request: Request, id: u32) -> Request {
        let (method, body) = match self {
            Self::Export => return request.header("Accept", "application/x-ndjson"),
            Self::Update => ("PUT", format!(r#"{{"views":{}}}"#, id % 1_000)),
            Self::Create => {
                let comment =
                    r#"{"authorId":1,"body":"a comment of the bench","createdAt":"2024-01-01T00:00:00Z"}"#;
                ("POST", comment.to_owned())
            }
            Self::Bulk => ("POST", format!("[{}]", (0..1_000).map(user).collect::<Vec<_>>().join(","))),
            _ => return request,
        };
        let mut write = request.header("Content-Type", "application/json").body(body);
        method.clone_into(&mut write.method);
        write
    }

    /// Returns the query.
    pub(crate) fn query(self, id: u32, after: Option<&str>) -> String {
        let select = match self {
            Self::Scalars | Self::Param | Self::Batch => {
                r#""id":true,"title":true,"body":true,"published":true,"views":true,"publishedAt":true"#
                    .to_owned()
            }
            Self::Nested => format!(r#""title":true,{AUTHOR},{COMMENTS}"#),
            Self::Newest => format!(r#"{NEWEST},{AUTHOR}"#),
            Self::Deep => format!(r#"{NEWEST},{AUTHOR},{COMMENTS}"#),
            Self::Tags => format!(r#"{NEWEST},"tags":{{"$select":{{"name":true}}}}"#),
            Self::Tree => TREE.to_owned(),
            Self::Wide => PRODUCT.map(|name| format!(r#""{name}":true"#)).join(","),
            Self::Groups => r#""category":true"#.to_owned(),
            Self::Some | Self::Busiest | Self::Backward | Self::Search => NEWEST.to_owned(),
            Self::Buckets => r#""month":true"#.to_owned(),
            Self::Total | Self::Path => r#""id":true,"body":true"#.to_owned(),
            Self::Every => r#""id":true,"name":true"#.to_owned(),
            Self::Update => r#""id":true,"views":true"#.to_owned(),
            Self::Create => r#""body":true"#.to_owned(),
            Self::Bulk => r#""id":true"#.to_owned(),
            Self::Export => r#""id":true,"title":true,"publishedAt":true,"views":true"#.to_owned(),
            Self::Page { .. } | Self::Rows(_) | Self::Many => {
                r#""id":true,"title":true,"views":true"#.to_owned()
            }
        };
        let controls = match self {
            Self::Newest | Self::Deep | Self::Tags => PUBLISHED.to_owned(),
            Self::Wide => r#","$page":{"first":200}"#.to_owned(),
            Self::Groups => {
                format!(r#","$where":{{"field":"supplierId","op":"eq","value":{VALUE}}},{GROUPS}"#)
            }
            Self::Some => format!(
                r#","$where":{{"and":[{{"field":"published","op":"eq","value":true}},{{"relation":"comments","op":"some","where":{{"field":"authorId","op":"eq","value":{VALUE}}}}}]}},"$orderBy":[{{"field":"publishedAt","direction":"desc"}}],"$page":{{"first":20}}"#
            ),
            Self::Every => format!(
                r#","$where":{{"relation":"posts","op":"every","where":{{"field":"views","op":"gte","value":{VALUE}}}}},"$page":{{"first":20}}"#
            ),
            Self::Busiest => format!(
                r#","$where":{{"field":"authorId","op":"eq","value":{VALUE}}},"$orderBy":[{{"relation":"comments","aggregate":{{"fn":"count"}},"direction":"desc"}}],"$page":{{"first":20}}"#
            ),
            Self::Total => format!(
                r#","$where":{{"field":"authorId","op":"eq","value":{VALUE}}},"$orderBy":[{{"field":"createdAt","direction":"desc"}}],"$page":{{"first":20,"total":true}}"#
            ),
            Self::Path => format!(
                r#","$where":{{"field":"authorId","op":"eq","value":{VALUE}}},"$orderBy":[{{"field":"post.title","direction":"asc"}}],"$page":{{"first":20}}"#
            ),
            Self::Backward => PUBLISHED.replace("first", "last"),
            Self::Param => {
                format!(r#","$where":{{"field":"id","op":"eq","value":{VALUE}}},"$page":{{"first":20}}"#)
            }
            Self::Search => r#","$where":{"search":"granite"},"$page":{"first":20}"#.to_owned(),
            Self::Buckets => BUCKETS.to_owned(),
            Self::Page { first } => {
                let after = after.map(|after| format!(r#","after":"{after}""#)).unwrap_or_default();
                format!(
                    r#","$orderBy":[{{"field":"views","direction":"asc"}}],"$page":{{"first":{first}{after}}}"#
                )
            }
            Self::Rows(first) => format!(
                r#","$where":{{"field":"views","op":"gte","value":{id}}},"$orderBy":[{{"field":"views","direction":"asc"}}],"$page":{{"first":{first}}}"#
            ),
            _ => String::new(),
        };
        let entity = match self {
            Self::Tree => "employee",
            Self::Wide | Self::Groups => "product",
            Self::Create | Self::Total | Self::Path => "comment",
            Self::Every | Self::Bulk => "user",
            _ => "post",
        };
        format!(r#"{{"{entity}":{{"$select":{{{select}}}{controls}}}}}"#)
    }
}

/// Returns a new user as JSON.
fn user(number: u32) -> String {
    format!(
        r#"{{"name":"User number {number}","email":"user{number}@example.com","bio":"Likes amber, cedar and granite on every {number}th morning."}}"#
    )
}

const VALUE: &str = r#"{"$param":"value"}"#;
const NEWEST: &str = r#""id":true,"title":true,"publishedAt":true"#;
const AUTHOR: &str = r#""author":{"$select":{"name":true}}"#;
const COMMENTS: &str = r#""comments":{"$select":{"body":true,"author":{"$select":{"name":true}}}}"#;
const PUBLISHED: &str = r#","$where":{"field":"published","op":"eq","value":true},"$orderBy":[{"field":"publishedAt","direction":"desc"}],"$page":{"first":20}"#;
const TREE: &str = r#""name":true,"manager":{"$select":{"name":true,"manager":{"$select":{"name":true}}}},"reports":{"$select":{"name":true,"reports":{"$select":{"name":true}}}}"#;
const GROUPS: &str = r#""$groupBy":["category"],"$aggregate":{"n":{"fn":"count"},"total":{"fn":"sum","field":"stock"},"mean":{"fn":"avg","field":"price"},"top":{"fn":"max","field":"rating"}},"$orderBy":[{"aggregate":"n","direction":"desc"}],"$page":{"first":50}"#;
const BUCKETS: &str = r#","$where":{"and":[{"field":"published","op":"eq","value":true},{"field":"publishedAt","op":"gte","value":"2024-01-01T00:00:00Z"}]},"$groupBy":[{"field":"publishedAt","by":"month","as":"month"}],"$aggregate":{"n":{"fn":"count"}},"$page":{"first":50}"#;
const PRODUCT: [&str; 30] = [
    "id",
    "supplierId",
    "category",
    "name",
    "sku",
    "brand",
    "color",
    "size",
    "material",
    "origin",
    "status",
    "note",
    "price",
    "cost",
    "weight",
    "width",
    "height",
    "depth",
    "stock",
    "reserved",
    "sold",
    "views",
    "rating",
    "reviews",
    "active",
    "featured",
    "taxable",
    "createdAt",
    "updatedAt",
    "retiredAt",
];
