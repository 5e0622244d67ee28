CREATE TABLE users (id integer PRIMARY KEY, name text NOT NULL, email text NOT NULL, bio text);
CREATE TABLE posts (
    id integer PRIMARY KEY, author_id integer NOT NULL REFERENCES users, title text NOT NULL, body text NOT NULL,
    published boolean NOT NULL, published_at timestamptz NOT NULL, views integer NOT NULL
);
CREATE TABLE comments (
    id integer PRIMARY KEY, post_id integer NOT NULL REFERENCES posts, author_id integer NOT NULL REFERENCES users,
    body text NOT NULL, created_at timestamptz NOT NULL
);
CREATE TABLE tags (id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE post_tags (
    post_id integer NOT NULL REFERENCES posts, tag_id integer NOT NULL REFERENCES tags, PRIMARY KEY (post_id, tag_id)
);
CREATE TABLE employees (
    id integer PRIMARY KEY, name text NOT NULL, title text NOT NULL, manager_id integer REFERENCES employees
);
CREATE TABLE products (
    id integer PRIMARY KEY, supplier_id integer NOT NULL, category text NOT NULL, name text NOT NULL,
    sku text NOT NULL, brand text NOT NULL, color text NOT NULL, size text NOT NULL, material text NOT NULL,
    origin text NOT NULL, status text NOT NULL, note text, price double precision NOT NULL,
    cost double precision NOT NULL, weight double precision NOT NULL, width double precision NOT NULL,
    height double precision NOT NULL, depth double precision NOT NULL, stock integer NOT NULL,
    reserved integer NOT NULL, sold integer NOT NULL, views integer NOT NULL, rating integer NOT NULL,
    reviews integer NOT NULL, active boolean NOT NULL, featured boolean NOT NULL, taxable boolean NOT NULL,
    created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL, retired_at timestamptz
);
INSERT INTO users SELECT i, 'User number ' || i, 'user' || i || '@example.com', repeat('biography ', 6)
    FROM generate_series(1, 10000) i;
INSERT INTO posts SELECT i, (i::bigint * 7919) % 10000 + 1, 'The title of post number ' || i, repeat('some text ', 30),
    i % 10 <> 0, '2015-01-01'::timestamptz + (i::bigint * 104729 % 315360000) * interval '1 second', i * 7 % 1000000
    FROM generate_series(1, 100000) i;
INSERT INTO comments SELECT i, (i::bigint * 7907) % 100000 + 1, (i::bigint * 104729) % 10000 + 1,
    'A comment of a dozen words, more or less, which is number ' || i || ' of all',
    '2015-01-01'::timestamptz + i * interval '1 second' FROM generate_series(1, 500000) i;
CREATE INDEX ON posts (author_id);
CREATE INDEX ON posts (published, published_at, id);
CREATE INDEX ON comments (post_id);
CREATE INDEX ON comments (author_id);
VACUUM ANALYZE;
