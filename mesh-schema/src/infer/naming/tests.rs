//! Tests of inferred names, and of English singulars and plurals.

use super::*;

#[test]
fn storage_names_become_camel_case() {
    let cases = [
        ("created_at", "createdAt"),
        ("ArtistId", "artistId"),
        ("HTTPServer", "httpServer"),
        ("order details", "orderDetails"),
        ("ORDER_DETAILS", "orderDetails"),
        ("ünï côde", "ünïCôde"),
        ("we\"ird--name", "weIrdName"),
        ("utf8Text", "utf8Text"),
        ("user2FA", "user2Fa"),
        ("2fa_codes", "2faCodes"),
        ("_leading", "leading"),
        ("ÄrgerListe", "ärgerListe"),
        ("表_名前", "表名前"),
        ("???", ""),
        ("", ""),
    ];
    for (storage, name) in cases {
        assert_eq!(camel(&words(storage)), name, "{storage}");
    }
}

#[test]
fn tables_become_entity_keys() {
    let cases = [
        ("order_details", "orderDetail"),
        ("Artist", "artist"),
        ("PlaylistTrack", "playlistTrack"),
        ("people", "person"),
        ("news", "news"),
        ("user_statuses", "userStatus"),
        ("Categories", "category"),
        ("HTTPServers", "httpServer"),
        ("???", ""),
    ];
    for (table, key) in cases {
        assert_eq!(entity_key(table), key, "{table}");
    }
}

#[test]
fn names_are_pluralized() {
    let cases = [
        ("album", "albums"),
        ("orderDetail", "orderDetails"),
        ("category", "categories"),
        ("userStatus", "userStatuses"),
        ("personPhone", "personPhones"),
        ("shopPerson", "shopPeople"),
        ("Orders", "Orders"),
        ("news", "news"),
        ("FOO_BAR", "FOO_BARs"),
        ("台", "台s"),
        ("a!", "a!s"),
        ("???", "???s"),
    ];
    for (one, many) in cases {
        assert_eq!(plural_name(one), many, "{one}");
    }
}

/// Singulars and plurals, each of which is derived from the other.
const NOUNS: &str = "
    user/users post/posts category/categories city/cities key/keys day/days reply/replies movie/movies
    cookie/cookies person/people child/children man/men woman/women salesman/salesmen mouse/mice foot/feet
    status/statuses bus/buses bonus/bonuses virus/viruses campus/campuses alias/aliases gas/gases lens/lenses
    canvas/canvases house/houses warehouse/warehouses course/courses case/cases purchase/purchases
    database/databases response/responses expense/expenses license/licenses exercise/exercises cause/causes
    use/uses address/addresses process/processes class/classes box/boxes tax/taxes index/indexes
    matrix/matrices vertex/vertices axis/axes analysis/analyses crisis/crises diagnosis/diagnoses
    batch/batches branch/branches search/searches coach/coaches cache/caches dish/dishes brush/brushes
    quiz/quizzes prize/prizes size/sizes buzz/buzzes leaf/leaves shelf/shelves archive/archives move/moves
    hero/heroes photo/photos shoe/shoes video/videos menu/menus taxi/taxis api/apis id/ids url/urls
    human/humans specimen/specimens regimen/regimens document/documents sale/sales file/files type/types
    news/news series/series species/species data/data
";

#[test]
fn singular_and_plural_of_nouns() {
    for (one, many) in NOUNS.split_whitespace().map(|noun| noun.split_once('/').unwrap()) {
        assert_eq!(singular(many), one, "singular of {many}");
        assert_eq!(plural(one), many, "plural of {one}");
        assert_eq!(singular(one), one, "{one} is singular");
        assert_eq!(plural(many), many, "{many} is plural");
    }
}

#[test]
fn unusual_words_are_unchanged() {
    for word in ["s", "es", "as", "", "ss", "status", "access", "chess", "côde", "iris", "os"] {
        assert_eq!(singular(word), word);
    }
    assert_eq!(singular("indices"), "index");
}
