//! The grammar of join conditions.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn check(text: &str, expected: Expect) {
    let shown = match parse(text) {
        Ok(equalities) => equalities
            .iter()
            .map(|equality| format!("{} = {}", equality.left, equality.right))
            .collect::<Vec<_>>()
            .join("\n"),
        Err(message) => format!("fault: {}", message.split(';').next().unwrap_or_default()),
    };
    expected.assert_eq(&shown);
}

#[test]
fn conditions_are_parsed() {
    check("posts.author_id = users.id", expect!["posts.author_id = users.id"]);
    check("posts.author_id=users.id", expect!["posts.author_id = users.id"]);
    check("  a.x\t=\n b.y  ", expect!["a.x = b.y"]);
    check(
        "a.x = b.y AND a.z = b.w aNd c.d=e.f",
        expect![[r#"
        a.x = b.y
        a.z = b.w
        c.d = e.f"#]],
    );
    check("public.users.id = sales.orders.user_id", expect!["public.users.id = sales.orders.user_id"]);
    check(r#""order details"."a""b" = "x".id"#, expect![[r#""order details"."a""b" = x.id"#]]);
    check(r#""a.b".c = d."e.f""#, expect![[r#""a.b".c = d."e.f""#]]);
    check(
        r#""a"."b"="c"."d"AND"e"."f"="g"."h""#,
        expect![[r#"
        a.b = c.d
        e.f = g.h"#]],
    );
    check("straße.größe = ünï.id", expect!["straße.größe = ünï.id"]);
    check(
        "_a.b$1 = and.and AND and.x = y.z",
        expect![[r#"
        _a.b$1 = and.and
        and.x = y.z"#]],
    );
}

#[test]
fn invalid_conditions_are_refused_with_a_position() {
    check("", expect!["fault: Expected table.column at character 1, found the end"]);
    check("id = users.id", expect!["fault: Expected table.column at character 1, found 'i'"]);
    check("posts.id", expect!["fault: Expected '=' at character 9, found the end"]);
    check("posts.id = ", expect!["fault: Expected table.column at character 12, found the end"]);
    check("posts.id == users.id", expect!["fault: Expected table.column at character 11, found '='"]);
    check("posts.id = users.id OR 1=1", expect!["fault: Expected AND or the end at character 21, found 'O'"]);
    check(
        "posts.id = users.id ANDy.a = b.c",
        expect!["fault: Expected AND or the end at character 21, found 'A'"],
    );
    check("posts.id = users.id AND", expect!["fault: Expected table.column at character 24, found the end"]);
    check("posts.id = users.id; --", expect!["fault: Expected AND or the end at character 20, found '"]);
    check("posts.id = 7", expect!["fault: Expected table.column at character 12, found '7'"]);
    check("posts.1d = users.id", expect!["fault: Expected table.column at character 1, found 'p'"]);
    check("a.b.c.d = users.id", expect!["fault: Expected table.column at character 1, found 'a'"]);
    check(r#""posts.id = users.id"#, expect![[r#"fault: Expected table.column at character 1, found '"'"#]]);
    check(r#""".id = users.id"#, expect![[r#"fault: Expected table.column at character 1, found '"'"#]]);
    check("posts . id = users.id", expect!["fault: Expected table.column at character 1, found 'p'"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn printed_columns_are_parsed_back(names in prop::array::uniform5(".{1,8}")) {
        let [schema, table, column, other, key] = names;
        let left = ColumnRef { schema: Some(schema), table, column };
        let right = ColumnRef { schema: None, table: other, column: key };
        let text = format!("{left} = {right} AND {right} = {left}");
        let expected = vec![
            Equality { left: left.clone(), right: right.clone() },
            Equality { left: right, right: left },
        ];
        prop_assert_eq!(parse(&text), Ok(expected));
    }

    #[test]
    fn parsing_never_panics(text in ".{0,60}") {
        let _ = parse(&text);
    }
}
