//! Runs the example as a program.

use std::process::Command;

#[test]
fn reads_are_answered_inside_a_program() {
    // Cargo puts examples beside the folder of the test executables, and builds them before the tests run.
    let test = std::env::current_exe().unwrap();
    let file = format!("in_process{}", std::env::consts::EXE_SUFFIX);
    let program = test.parent().unwrap().parent().unwrap().join("examples").join(file);
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let (plan, answers) = printed.split_once("\n\n").unwrap();
    expect_test::expect![[r#"
        author: one record of authors, id 1
          fields  name
          keys    id
          books: many book of books, author = parent id
            fields  title
            order   id asc nulls last"#]]
    .assert_eq(plan);
    let mut answers = answers.lines();
    assert_eq!(answers.next(), Some(r#"{"name":"Ada","books":[{"title":"Notes"},{"title":"More notes"}]}"#));
    let list = answers.next().unwrap_or_default();
    assert!(
        list.starts_with(r#"{"items":[{"title":"More notes","author":{"name":"Ada"}}],"pageInfo""#),
        "{list}"
    );
    let refusal = "Field 'titel' not found on entity 'book'; did you mean 'title'?";
    assert_eq!((answers.next(), answers.next()), (Some(refusal), None));
}
