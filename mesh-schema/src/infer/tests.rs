//! Inferred entities, fields and relations.

mod random;

use expect_test::{Expect, expect, expect_file};

use super::*;
use crate::ForeignKey;

/// Parses a table from a short notation: columns, where `*` marks columns of the primary key and `!` unique columns, and
/// foreign keys as `a,b>Table(c,d)`.
fn table(name: &str, columns: &str, foreign_keys: &[&str]) -> Table {
    let mut table = Table { name: name.into(), ..Table::default() };
    for written in columns.split_whitespace() {
        let bare = written.trim_end_matches(['*', '!']).replace('·', " ");
        if written.ends_with('*') {
            table.primary_key.push(bare.clone());
        }
        if written.ends_with('!') {
            table.unique.push(vec![bare.clone()]);
        }
        let is_id = bare.to_lowercase().ends_with("id") || bare == "ReportsTo";
        let ty = if is_id { FieldType::Integer } else { FieldType::String };
        table.columns.push(Column { name: bare, ty: Some(ty), ..Column::default() });
    }
    for key in foreign_keys {
        let (from, to) = key.split_once('>').unwrap();
        let (target, columns) = to.trim_end_matches(')').split_once('(').unwrap_or((to, ""));
        let (schema, target) =
            target.split_once('/').map_or((None, target), |(schema, name)| (Some(schema), name));
        let list = |text: &str| text.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        table.foreign_keys.push(ForeignKey {
            columns: list(from),
            target_schema: schema.map(str::to_owned),
            target: target.to_owned(),
            target_columns: list(columns),
        });
    }
    table
}

fn inferred(tables: Vec<Table>) -> Inference {
    let catalog = Catalog { tables, ..Catalog::default() };
    let inference = infer(&catalog);
    if let Err(faults) = inference.document.load(Some(&catalog)) {
        panic!("{faults:#?}\n{}", inference.document.to_json());
    }
    inference
}

/// Checks the inferred entities with their fields and relations, then the notes, one per line.
fn check(tables: Vec<Table>, expected: Expect) {
    let Inference { document, notes } = inferred(tables);
    let mut shown = String::new();
    for (key, entity) in document.entities.iter() {
        let id = match &entity.id_field {
            IdField::Unset => "id".to_owned(),
            IdField::Null => "-".to_owned(),
            IdField::Field(name) => name.clone(),
            IdField::Fields(names) => names.join("+"),
        };
        let column = |field: &String| match entity.columns.get(field) {
            Some(column) => format!("{field}={column}"),
            None => field.clone(),
        };
        let fields: Vec<_> = entity.fields.iter().map(column).collect();
        let table = entity.table.as_ref().map(|table| format!(" <{table}>")).unwrap_or_default();
        shown += &format!("{key}{table} [{id}]: {}\n", fields.join(", "));
        for (join, document) in
            document.joins.iter().filter(|(join, _)| join.split_once('.').unwrap().0 == key)
        {
            let through = document.through.as_ref();
            let through =
                through.map(|t| format!(" through {}({}, {})", t.table, t.from, t.to)).unwrap_or_default();
            let on = document.on.as_ref().map(|on| format!(" on {on}")).unwrap_or_default();
            shown +=
                &format!("  {join} {} {}{through}{on}\n", document.cardinality.as_str(), document.entity);
        }
    }
    for note in notes {
        shown += &format!("! {note}\n");
    }
    expected.assert_eq(&shown);
}

fn chinook() -> Vec<Table> {
    vec![
        table("Artist", "ArtistId* Name", &[]),
        table("Album", "AlbumId* Title ArtistId", &["ArtistId>Artist(ArtistId)"]),
        table("Track", "TrackId* Name AlbumId GenreId", &["AlbumId>Album", "GenreId>Genre"]),
        table("Genre", "GenreId* Name", &[]),
        table("Playlist", "PlaylistId* Name", &[]),
        table("PlaylistTrack", "PlaylistId* TrackId*", &["PlaylistId>Playlist", "TrackId>Track"]),
        table("Employee", "EmployeeId* LastName ReportsTo", &["ReportsTo>Employee(EmployeeId)"]),
        table("Customer", "CustomerId* FirstName SupportRepId", &["SupportRepId>Employee(EmployeeId)"]),
    ]
}

#[test]
fn every_table_of_a_music_shop_is_served() {
    check(
        chinook(),
        expect![[r#"
            album <Album> [albumId]: albumId=AlbumId, title=Title, artistId=ArtistId
              album.artist one artist on Artist.ArtistId = Album.ArtistId
              album.tracks many track on Track.AlbumId = Album.AlbumId
            artist <Artist> [artistId]: artistId=ArtistId, name=Name
              artist.albums many album on Album.ArtistId = Artist.ArtistId
            customer <Customer> [customerId]: customerId=CustomerId, firstName=FirstName, supportRepId=SupportRepId
              customer.supportRep one employee on Employee.EmployeeId = Customer.SupportRepId
            employee <Employee> [employeeId]: employeeId=EmployeeId, lastName=LastName, reportsTo=ReportsTo
              employee.employee one employee on Employee.EmployeeId = Employee.ReportsTo
              employee.customers many customer on Customer.SupportRepId = Employee.EmployeeId
              employee.employees many employee on Employee.ReportsTo = Employee.EmployeeId
            genre <Genre> [genreId]: genreId=GenreId, name=Name
              genre.tracks many track on Track.GenreId = Genre.GenreId
            playlist <Playlist> [playlistId]: playlistId=PlaylistId, name=Name
              playlist.playlistTracks many playlistTrack on PlaylistTrack.PlaylistId = Playlist.PlaylistId
              playlist.tracks many track through PlaylistTrack(PlaylistId, TrackId)
            playlistTrack <PlaylistTrack> [playlistId+trackId]: playlistId=PlaylistId, trackId=TrackId
              playlistTrack.playlist one playlist on Playlist.PlaylistId = PlaylistTrack.PlaylistId
              playlistTrack.track one track on Track.TrackId = PlaylistTrack.TrackId
            track <Track> [trackId]: trackId=TrackId, name=Name, albumId=AlbumId, genreId=GenreId
              track.album one album on Album.AlbumId = Track.AlbumId
              track.genre one genre on Genre.GenreId = Track.GenreId
              track.playlistTracks many playlistTrack on PlaylistTrack.TrackId = Track.TrackId
              track.playlists many playlist through PlaylistTrack(TrackId, PlaylistId)
        "#]],
    );
}

#[test]
fn inferred_document_parses_as_a_schema_file() {
    expect_file!["tests/chinook.json"].assert_eq(&inferred(chinook()).document.to_json());
}

#[test]
fn several_foreign_keys_between_two_tables_get_distinct_names() {
    check(
        vec![
            table("users", "id*", &[]),
            table(
                "posts",
                "id* author_id editor_id",
                &["author_id>users", "editor_id>users(id)", "author_id>users(id)"],
            ),
            table("flights", "id* from to pilot", &["from>users", "to>users", "pilot>pilots"]),
            table("pilots", "id*", &[]),
            table("accounts", "id* user_id! admin_id!", &["user_id>users", "admin_id>users"]),
        ],
        expect![[r#"
            account [id]: id, userId=user_id, adminId=admin_id
              account.user one user on users.id = accounts.user_id
              account.admin one user on users.id = accounts.admin_id
            flight [id]: id, from, to, pilot
              flight.from_ one user on users.id = flights.from
              flight.to_ one user on users.id = flights.to
              flight.pilot_ one pilot on pilots.id = flights.pilot
            pilot [id]: id
              pilot.flights many flight on flights.pilot = pilots.id
            post [id]: id, authorId=author_id, editorId=editor_id
              post.author one user on users.id = posts.author_id
              post.editor one user on users.id = posts.editor_id
            user [id]: id
              user.accountByUser one account on accounts.user_id = users.id
              user.accountByAdmin one account on accounts.admin_id = users.id
              user.flightsByFrom many flight on flights.from = users.id
              user.flightsByTo many flight on flights.to = users.id
              user.postsByAuthor many post on posts.author_id = users.id
              user.postsByEditor many post on posts.editor_id = users.id
            ! flights: its relation to 'user' is called 'from_', because 'from' is reserved or taken
            ! flights: its relation to 'user' is called 'to_', because 'to' is reserved or taken
            ! flights: its relation to 'pilot' is called 'pilot_', because 'pilot' is reserved or taken
        "#]],
    );
}

#[test]
fn unique_foreign_keys_give_to_one_relations() {
    check(
        vec![
            table("users", "id*", &[]),
            table("profiles", "user_id* bio", &["user_id>users"]),
            table("passports", "id* holderID!", &["holderID>users"]),
        ],
        expect![[r#"
            passport [id]: id, holderId=holderID
              passport.holder one user on users.id = passports.holderID
            profile [userId]: userId=user_id, bio
              profile.user one user on users.id = profiles.user_id
            user [id]: id
              user.passport one passport on passports.holderID = users.id
              user.profile one profile on profiles.user_id = users.id
        "#]],
    );
}

#[test]
fn composite_keys_are_joined_with_and() {
    check(
        vec![
            table("order·lines".replace('·', " ").as_str(), "order_no* line_no* item", &[]),
            table("shipments", "id* order_no line_no", &["order_no,line_no>order lines"]),
            table("lost", "id* a", &["a>order lines"]),
        ],
        expect![[r#"
            lost <lost> [id]: id, a
            orderLine <order lines> [orderNo+lineNo]: orderNo=order_no, lineNo=line_no, item
              orderLine.shipments many shipment on shipments.order_no = "order lines".order_no AND shipments.line_no = "order lines".line_no
            shipment [id]: id, orderNo=order_no, lineNo=line_no
              shipment.orderLine one orderLine on "order lines".order_no = shipments.order_no AND "order lines".line_no = shipments.line_no
            ! lost: the foreign key (a) does not define a relation: it does not fit the key of 'order lines'
        "#]],
    );
}

#[test]
fn junctions_give_both_sides_a_to_many_relation() {
    check(
        vec![
            table("users", "id* name!", &[]),
            table("tags", "slug* name!", &[]),
            table("user_tags", "user* tag*", &["user>users(name)", "tag>tags"]),
            table("user_skills", "user_id* tag_id*", &["user_id>users", "tag_id>tags"]),
            table("follows", "follower_id* followee_id* at", &["follower_id>users", "followee_id>users"]),
            table("no_junction", "id* a b", &["a>users", "b>tags"]),
        ],
        expect![[r#"
            follow [followerId+followeeId]: followerId=follower_id, followeeId=followee_id, at
              follow.follower one user on users.id = follows.follower_id
              follow.followee one user on users.id = follows.followee_id
            noJunction <no_junction> [id]: id, a, b
              noJunction.user one user on users.id = no_junction.a
              noJunction.tag one tag on tags.slug = no_junction.b
            tag [slug]: slug, name
              tag.noJunctions many noJunction on no_junction.b = tags.slug
              tag.userSkills many userSkill on user_skills.tag_id = tags.slug
              tag.userTags many userTag on user_tags.tag = tags.slug
              tag.usersByUserSkill many user through user_skills(tag_id, user_id)
              tag.usersByUserTag many user through user_tags(tag, user) on user_tags.tag = tags.slug AND user_tags.user = users.name
            userSkill <user_skills> [userId+tagId]: userId=user_id, tagId=tag_id
              userSkill.user one user on users.id = user_skills.user_id
              userSkill.tag one tag on tags.slug = user_skills.tag_id
            userTag <user_tags> [user+tag]: user, tag
              userTag.user_ one user on users.name = user_tags.user
              userTag.tag_ one tag on tags.slug = user_tags.tag
            user [id]: id, name
              user.followsByFollower many follow on follows.follower_id = users.id
              user.followsByFollowee many follow on follows.followee_id = users.id
              user.noJunctions many noJunction on no_junction.a = users.id
              user.userSkills many userSkill on user_skills.user_id = users.id
              user.userTags many userTag on user_tags.user = users.name
              user.followees many user through follows(follower_id, followee_id)
              user.followers many user through follows(followee_id, follower_id)
              user.tagsByUserSkill many tag through user_skills(user_id, tag_id)
              user.tagsByUserTag many tag through user_tags(user, tag) on user_tags.user = users.name AND user_tags.tag = tags.slug
            ! user_tags: its relation to 'user' is called 'user_', because 'user' is reserved or taken
            ! user_tags: its relation to 'tag' is called 'tag_', because 'tag' is reserved or taken
        "#]],
    );
}

#[test]
fn no_field_has_a_dot() {
    check(
        vec![table("parts", "id* a.b aB c.d", &[])],
        expect![[r#"
            part [id]: id, a_b=a.b, aB, cD=c.d
            ! parts.a.b: served as 'a_b', because its plain name is taken, reserved or empty
            ! parts.aB: served as 'aB', because its plain name is taken, reserved or empty
        "#]],
    );
}

#[test]
fn colliding_names_keep_their_storage_names_or_get_an_underscore() {
    check(
        vec![
            table("order_items", "id* a_b aB A·B", &[]),
            table("OrderItem", "id* events", &[]),
            table("files", "id* ??? $", &[]),
            table("???", "id* file_id events_id", &["file_id>files", "events_id>files"]),
            table("a.b", "id*", &[]),
            table("A·B".replace('·', " ").as_str(), "id*", &[]),
            table("events", "id* file_id", &["file_id>files"]),
            table("ünï·côde".replace('·', " ").as_str(), "größe* \"q\"", &["\"q\">ünï côde"]),
            table("select", "from* where", &["where>select"]),
        ],
        expect![[r#"
            ??? <???> [id]: id, fileId=file_id, eventsId=events_id
              ???.file one file on files.id = "???".file_id
              ???.events_ one file on files.id = "???".events_id
            A B <A B> [id]: id
            OrderItem <OrderItem> [id]: id, events_=events
            a_b <"a.b"> [id]: id
            event [id]: id, fileId=file_id
              event.file one file on files.id = events.file_id
            file [id]: id, ???, _$=$
              file.???sByFile many ??? on "???".file_id = files.id
              file.???sByEvents many ??? on "???".events_id = files.id
              file.events_ many event on events.file_id = files.id
            order_items [id]: id, a_b, aB, A B
            select <select> [from]: from, where
              select.select one select on select.from = select.where
              select.selects many select on select.where = select.from
            ünïCôde <ünï côde> [größe]: größe, q="q"
              ünïCôde.ünïCôde one ünïCôde on "ünï côde".größe = "ünï côde"."""q"""
              ünïCôde.ünïCôdes many ünïCôde on "ünï côde"."""q""" = "ünï côde".größe
            ! ???: served as '???', because its plain name is taken, reserved or empty
            ! A B: served as 'A B', because its plain name is taken, reserved or empty
            ! OrderItem: served as 'OrderItem', because its plain name is taken, reserved or empty
            ! "a.b": served as 'a_b', because its plain name is taken, reserved or empty
            ! order_items: served as 'order_items', because its plain name is taken, reserved or empty
            ! OrderItem.events: served as 'events_', because its plain name is taken, reserved or empty
            ! files.???: served as '???', because its plain name is taken, reserved or empty
            ! files.$: served as '_$', because its plain name is taken, reserved or empty
            ! order_items.a_b: served as 'a_b', because its plain name is taken, reserved or empty
            ! order_items.aB: served as 'aB', because its plain name is taken, reserved or empty
            ! order_items.A B: served as 'A B', because its plain name is taken, reserved or empty
            ! ???: its relation to 'file' is called 'events_', because 'events' is reserved or taken
            ! files: its relation to 'event' is called 'events_', because 'events' is reserved or taken
        "#]],
    );
}

#[test]
fn tables_with_equal_names_in_several_schemas_get_distinct_keys() {
    let within = |schema: &str, table: Table| Table { schema: Some(schema.to_owned()), ..table };
    check(
        vec![
            table("orders", "id*", &[]),
            within("sales", table("orders", "id* order_id", &["order_id>orders"])),
            within("sales", table("x.y", "id* order_id", &["order_id>sales/orders"])),
            within("mesh", table("state", "id*", &[])),
        ],
        expect![[r#"
            orders [id]: id
              orders.sales_orders many sales_orders on sales.orders.order_id = orders.id
            sales_orders <sales.orders> [id]: id, orderId=order_id
              sales_orders.order one orders on orders.id = sales.orders.order_id
              sales_orders.xYs many xY on sales."x.y".order_id = sales.orders.id
            xY <sales."x.y"> [id]: id, orderId=order_id
              xY.order one sales_orders on sales.orders.id = sales."x.y".order_id
            ! orders: served as 'orders', because its plain name is taken, reserved or empty
            ! sales.orders: served as 'sales_orders', because its plain name is taken, reserved or empty
        "#]],
    );
}

#[test]
fn columns_without_a_name_are_omitted_with_a_note() {
    let mut odd = table("odd", "id* name", &[]);
    odd.columns.push(Column::default());
    check(
        vec![odd],
        expect![[r#"
            odd <odd> [id]: id, name
            ! odd."": omitted: a column without a name cannot be referred to
        "#]],
    );
}

#[test]
fn secrets_and_unusable_tables_are_omitted_with_a_note() {
    check(
        vec![
            table("users", "id* name password_hash ApiKey", &[]),
            Table {
                row_id: Some("rowid".to_owned()),
                ..table("tokens", "token* user_id", &["user_id>users"])
            },
            table("sessions", "token* user_id", &["user_id>users"]),
            table("passwords", "password*", &[]),
            table("logins", "id* token", &["token>tokens", "id>passwords", "id>nowhere", "nothing>users"]),
            table("_mesh_queries", "id*", &[]),
            table("sqlite_sequence", "name seq", &[]),
            table("empty", "", &[]),
            table("", "id*", &[]),
            table("view", "a b", &[]),
        ],
        expect![[r#"
            login [id]: id
            token [-]: userId=user_id
              token.user one user on users.id = tokens.user_id
            user [id]: id, name
              user.tokens many token on tokens.user_id = users.id
            view <view> [-]: a, b
            ! sessions: omitted: its key looks like a secret, and cursors would contain it
            ! passwords: omitted: none of its columns can be served
            ! empty: omitted: none of its columns can be served
            ! : omitted: a table without a name cannot be referred to
            ! logins.token: omitted: it looks like a secret; to serve it, write the schema to a file and add "token" to the fields of entity 'login'
            ! tokens.token: omitted: it looks like a secret; to serve it, write the schema to a file and add "token" to the fields of entity 'token'
            ! users.password_hash: omitted: it looks like a secret; to serve it, write the schema to a file and add "passwordHash" to the fields of entity 'user' and "passwordHash": "password_hash" to its columns
            ! users.ApiKey: omitted: it looks like a secret; to serve it, write the schema to a file and add "apiKey" to the fields of entity 'user' and "apiKey": "ApiKey" to its columns
            ! logins: the foreign key (token) does not define a relation: the column 'token' of 'logins' looks like a secret
            ! logins: the foreign key (id) does not define a relation: the table 'passwords' is not served
            ! logins: the foreign key (id) does not define a relation: there is no table 'nowhere'
            ! logins: the foreign key (nothing) does not define a relation: the table 'logins' has no column 'nothing'
        "#]],
    );
}
