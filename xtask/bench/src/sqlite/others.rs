//! Many-to-many relations, self relations, wide rows and groups.

use rusqlite::{Connection, Statement};

use super::blog::{KEYS, newest_page, two_levels};
use super::{Answer, each, id};
use crate::Error;
use crate::json::Kind::{Flag, Integer, Moment, Real, Text};
use crate::json::{self, Kind, Page};

type Database = &'static Connection;

const NEWEST: &str = "SELECT id, title, published_at FROM posts WHERE published = 1 \
    ORDER BY published_at DESC, id DESC LIMIT 21";

pub(super) fn tags(connection: Database) -> Result<Answer, Error> {
    let mut newest = connection.prepare(NEWEST)?;
    let mut tags = connection.prepare(
        "SELECT t.name FROM post_tags pt JOIN tags t ON t.id = pt.tag_id WHERE pt.post_id = ? ORDER BY pt.tag_id",
    )?;
    Ok(Box::new(move |_, out| {
        newest_page(out, &mut newest, |out, row| {
            tags.raw_bind_parameter(1, id(row, 0)?)?;
            out.extend_from_slice(b",\"tags\":[");
            names(out, &mut tags, "}")?;
            out.push(b']');
            Ok(())
        })
    }))
}

/// Writes an object with a name for each row, each followed by `end`.
fn names(out: &mut Vec<u8>, statement: &mut Statement<'_>, end: &str) -> Result<(), Error> {
    let mut begin = "{\"name\":";
    each(statement, |row| {
        json::members(out, row, 0, [(begin, Text)])?;
        begin = ",{\"name\":";
        out.extend_from_slice(end.as_bytes());
        Ok(())
    })
}

pub(super) fn tag_levels(connection: Database) -> Result<Answer, Error> {
    let tags = format!(
        "SELECT pt.post_id, t.name FROM post_tags pt JOIN tags t ON t.id = pt.tag_id \
         WHERE pt.post_id IN ({KEYS}) ORDER BY pt.post_id, pt.tag_id"
    );
    let tags = connection.prepare(&tags)?;
    two_levels(connection.prepare(NEWEST)?, tags, "tags", [("{\"name\":", Text)], "}", false)
}

pub(super) const JSON_TAGS: &str = "SELECT p.published_at, json_object('id', p.id, 'title', p.title, \
    'publishedAt', p.published_at, 'tags', json((SELECT json_group_array(json_object('name', name)) FROM (SELECT t.name \
     FROM post_tags pt JOIN tags t ON t.id = pt.tag_id WHERE pt.post_id = p.id ORDER BY pt.tag_id)))) \
    FROM posts p WHERE p.published = 1 ORDER BY p.published_at DESC, p.id DESC LIMIT 21";

const REPORTS: &str = "SELECT name, id FROM employees WHERE manager_id = ? ORDER BY id";
const MANAGERS: &str = "SELECT e.name, m.name, g.name FROM employees e LEFT JOIN employees m ON m.id = e.manager_id \
    LEFT JOIN employees g ON g.id = m.manager_id WHERE e.id = ?";

/// One statement per relation and parent.
pub(super) fn nested_tree(connection: Database) -> Result<Answer, Error> {
    let mut employee = connection.prepare("SELECT name, manager_id FROM employees WHERE id = ?")?;
    let [mut first, mut second] = [connection.prepare(REPORTS)?, connection.prepare(REPORTS)?];
    Ok(Box::new(move |ask, out| {
        let mut number = ask.id;
        for begin in ["{\"name\":", ",\"manager\":{\"name\":", ",\"manager\":{\"name\":"] {
            employee.raw_bind_parameter(1, number)?;
            each(&mut employee, |row| {
                number = row.get_ref(1)?.as_i64_or_null()?.unwrap_or_default();
                json::members(out, row, 0, [(begin, Text)])
            })?;
        }
        out.extend_from_slice(b"}}");
        reports(out, &mut first, &mut second, ask.id)
    }))
}

/// Joins the managers into the statement of the employee.
pub(super) fn joined_tree(connection: Database) -> Result<Answer, Error> {
    let mut employee = connection.prepare(MANAGERS)?;
    let [mut first, mut second] = [connection.prepare(REPORTS)?, connection.prepare(REPORTS)?];
    Ok(Box::new(move |ask, out| {
        managers(out, &mut employee, ask.id)?;
        reports(out, &mut first, &mut second, ask.id)
    }))
}

fn managers(out: &mut Vec<u8>, employee: &mut Statement<'_>, number: i64) -> Result<(), Error> {
    employee.raw_bind_parameter(1, number)?;
    each(employee, |row| {
        let manager = ",\"manager\":{\"name\":";
        json::members(out, row, 0, [("{\"name\":", Text), (manager, Text), (manager, Text)])?;
        out.extend_from_slice(b"}}");
        Ok(())
    })
}

fn reports(
    out: &mut Vec<u8>,
    first: &mut Statement<'_>,
    second: &mut Statement<'_>,
    number: i64,
) -> Result<(), Error> {
    out.extend_from_slice(b",\"reports\":[");
    first.raw_bind_parameter(1, number)?;
    let mut begin = "{\"name\":";
    each(first, |row| {
        json::members(out, row, 0, [(begin, Text)])?;
        begin = ",{\"name\":";
        out.extend_from_slice(b",\"reports\":[");
        second.raw_bind_parameter(1, id(row, 1)?)?;
        names(out, second, "}")?;
        out.extend_from_slice(b"]}");
        Ok(())
    })?;
    out.extend_from_slice(b"]}");
    Ok(())
}

/// One statement for the managers and one for both levels of reports.
pub(super) fn tree_rows(connection: Database) -> Result<Answer, Error> {
    let mut employee = connection.prepare(MANAGERS)?;
    let mut both = connection.prepare(
        "SELECT r.id, r.name, s.id, s.name FROM employees r LEFT JOIN employees s ON s.manager_id = r.id \
         WHERE r.manager_id = ? ORDER BY r.id, s.id",
    )?;
    Ok(Box::new(move |ask, out| {
        managers(out, &mut employee, ask.id)?;
        both.raw_bind_parameter(1, ask.id)?;
        out.extend_from_slice(b",\"reports\":[");
        let (mut current, mut begin) = (None, "{\"name\":");
        each(&mut both, |row| {
            let report = id(row, 0)?;
            if current != Some(report) {
                if current.is_some() {
                    out.extend_from_slice(b"]},");
                }
                current = Some(report);
                json::members(out, row, 1, [("{\"name\":", Text)])?;
                out.extend_from_slice(b",\"reports\":[");
                begin = "{\"name\":";
            }
            if row.get_ref(2)?.as_i64_or_null()?.is_some() {
                json::members(out, row, 3, [(begin, Text)])?;
                out.push(b'}');
                begin = ",{\"name\":";
            }
            Ok(())
        })?;
        out.extend_from_slice(if current.is_some() { b"]}]}" } else { b"]}" });
        Ok(())
    }))
}

pub(super) const JSON_TREE: &str = "SELECT json_object('name', e.name, \
    'manager', json_object('name', m.name, 'manager', json_object('name', g.name)), \
    'reports', json((SELECT json_group_array(json_object('name', name, 'reports', json((SELECT json_group_array(json_object('name', name)) \
        FROM (SELECT s.name FROM employees s WHERE s.manager_id = r.id ORDER BY s.id))))) \
        FROM (SELECT id, name FROM employees WHERE manager_id = e.id ORDER BY id) r))) \
    FROM employees e LEFT JOIN employees m ON m.id = e.manager_id \
    LEFT JOIN employees g ON g.id = m.manager_id WHERE e.id = ?";

/// A page of `first` posts in the order of views, from a given number of views on.
pub(super) fn rows(connection: Database, first: usize) -> Result<Answer, Error> {
    let sql =
        format!("SELECT id, title, views FROM posts WHERE views >= ? ORDER BY views, id LIMIT {}", first + 1);
    let mut posts = connection.prepare(&sql)?;
    Ok(Box::new(move |ask, out| {
        posts.raw_bind_parameter(1, ask.id)?;
        let mut page = Page::open(out, first);
        each(&mut posts, |row| {
            if page.item(out) {
                json::members(
                    out,
                    row,
                    0,
                    [("{\"id\":", Integer), (",\"title\":", Text), (",\"views\":", Integer)],
                )?;
                out.push(b'}');
                page.cursor(|cursor| {
                    json::integer(cursor, id(row, 2)?);
                    json::integer(cursor, id(row, 0)?);
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        page.close(out);
        Ok(())
    }))
}

/// All posts, one per line.
pub(super) fn export(connection: Database) -> Result<Answer, Error> {
    let mut posts = connection.prepare("SELECT id, title, published_at, views FROM posts ORDER BY id")?;
    Ok(Box::new(move |_, out| {
        each(&mut posts, |row| {
            let members = [
                ("{\"id\":", Integer),
                (",\"title\":", Text),
                (",\"publishedAt\":", Moment),
                (",\"views\":", Integer),
            ];
            json::members(out, row, 0, members)?;
            out.extend_from_slice(b"}\n");
            Ok(())
        })
    }))
}

/// The columns of a product: name in the response, column, type.
const PRODUCT: [(&str, &str, Kind); 30] = [
    ("{\"id\":", "id", Integer),
    (",\"supplierId\":", "supplier_id", Integer),
    (",\"category\":", "category", Text),
    (",\"name\":", "name", Text),
    (",\"sku\":", "sku", Text),
    (",\"brand\":", "brand", Text),
    (",\"color\":", "color", Text),
    (",\"size\":", "size", Text),
    (",\"material\":", "material", Text),
    (",\"origin\":", "origin", Text),
    (",\"status\":", "status", Text),
    (",\"note\":", "note", Text),
    (",\"price\":", "price", Real),
    (",\"cost\":", "cost", Real),
    (",\"weight\":", "weight", Real),
    (",\"width\":", "width", Real),
    (",\"height\":", "height", Real),
    (",\"depth\":", "depth", Real),
    (",\"stock\":", "stock", Integer),
    (",\"reserved\":", "reserved", Integer),
    (",\"sold\":", "sold", Integer),
    (",\"views\":", "views", Integer),
    (",\"rating\":", "rating", Integer),
    (",\"reviews\":", "reviews", Integer),
    (",\"active\":", "active", Flag),
    (",\"featured\":", "featured", Flag),
    (",\"taxable\":", "taxable", Flag),
    (",\"createdAt\":", "created_at", Moment),
    (",\"updatedAt\":", "updated_at", Moment),
    (",\"retiredAt\":", "retired_at", Moment),
];

/// Rows of the page of wide rows.
const WIDE: usize = 200;

pub(super) fn wide(connection: Database) -> Result<Answer, Error> {
    let columns = PRODUCT.map(|(_, column, _)| column).join(", ");
    let sql = format!("SELECT {columns} FROM products ORDER BY id LIMIT {}", WIDE + 1);
    let mut products = connection.prepare(&sql)?;
    Ok(Box::new(move |_, out| {
        let mut page = Page::open(out, WIDE);
        each(&mut products, |row| {
            if page.item(out) {
                json::members(out, row, 0, const { members() })?;
                out.push(b'}');
                page.cursor(|cursor| {
                    json::integer(cursor, id(row, 0)?);
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        page.close(out);
        Ok(())
    }))
}

const fn members() -> [(&'static str, Kind); 30] {
    let mut all = [("", Text); 30];
    let mut place = 0;
    while place < all.len() {
        all[place] = (PRODUCT[place].0, PRODUCT[place].2);
        place += 1;
    }
    all
}

pub(super) fn json_wide(connection: Database) -> Result<Answer, Error> {
    let value = |(name, column, kind): (&str, &str, Kind)| {
        let name = name.trim_matches(['{', ',', ':', '"']);
        match kind {
            Flag => format!("'{name}', json(iif({column}, 'true', 'false'))"),
            _ => format!("'{name}', {column}"),
        }
    };
    let sql = format!(
        "SELECT id, json_object({}) FROM products ORDER BY id LIMIT {}",
        PRODUCT.map(value).join(", "),
        WIDE + 1
    );
    let mut products = connection.prepare(&sql)?;
    Ok(Box::new(move |_, out| {
        let mut page = Page::open(out, WIDE);
        each(&mut products, |row| {
            if page.item(out) {
                out.extend_from_slice(row.get_ref(1)?.as_bytes()?);
                page.cursor(|cursor| {
                    json::integer(cursor, id(row, 0)?);
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        page.close(out);
        Ok(())
    }))
}

const GROUPS: usize = 50;
const GROUPED: &str = "SELECT category, count(*) AS n, sum(stock) AS total, avg(price) AS mean, max(rating) AS top \
    FROM products WHERE supplier_id = ? GROUP BY category ORDER BY n DESC, category DESC LIMIT 51";

pub(super) fn groups(connection: Database) -> Result<Answer, Error> {
    let mut groups = connection.prepare(GROUPED)?;
    Ok(Box::new(move |ask, out| {
        groups.raw_bind_parameter(1, ask.id)?;
        let mut page = Page::open(out, GROUPS);
        each(&mut groups, |row| {
            if page.item(out) {
                let members = [
                    ("{\"category\":", Text),
                    (",\"n\":", Integer),
                    (",\"total\":", Integer),
                    (",\"mean\":", Real),
                    (",\"top\":", Integer),
                ];
                json::members(out, row, 0, members)?;
                out.push(b'}');
                page.cursor(|cursor| {
                    json::integer(cursor, id(row, 1)?);
                    cursor.extend_from_slice(row.get_ref(0)?.as_bytes()?);
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        page.close(out);
        Ok(())
    }))
}

pub(super) fn json_groups(connection: Database) -> Result<Answer, Error> {
    let sql = format!(
        "SELECT n, json_object('category', category, 'n', n, 'total', total, 'mean', mean, 'top', top) FROM ({GROUPED})"
    );
    let mut groups = connection.prepare(&sql)?;
    Ok(Box::new(move |ask, out| {
        groups.raw_bind_parameter(1, ask.id)?;
        let mut page = Page::open(out, GROUPS);
        each(&mut groups, |row| {
            if page.item(out) {
                out.extend_from_slice(row.get_ref(1)?.as_bytes()?);
                page.cursor(|cursor| {
                    json::integer(cursor, id(row, 0)?);
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        page.close(out);
        Ok(())
    }))
}

/// The posts published in a year by month. All times of the sample have the same form.
pub(super) fn buckets(connection: Database) -> Result<Answer, Error> {
    let mut months = connection.prepare(
        "SELECT substr(published_at, 1, 7) AS month, count(*) FROM posts \
         WHERE published = 1 AND published_at >= '2024-01-01T00:00:00Z' GROUP BY month ORDER BY month LIMIT 51",
    )?;
    Ok(Box::new(move |_, out| {
        let mut page = Page::open(out, GROUPS);
        each(&mut months, |row| {
            if page.item(out) {
                let month = row.get_ref(0)?.as_bytes()?;
                out.extend_from_slice(b"{\"month\":\"");
                out.extend_from_slice(month);
                json::members(out, row, 1, [("-01\",\"n\":", Integer)])?;
                out.push(b'}');
                page.cursor(|cursor| {
                    cursor.extend_from_slice(month);
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        page.close(out);
        Ok(())
    }))
}
