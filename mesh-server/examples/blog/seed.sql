CREATE TABLE users (id INTEGER PRIMARY KEY, first TEXT NOT NULL, last TEXT, role TEXT NOT NULL);
CREATE TABLE posts (
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL CHECK (title <> ''),
    body TEXT NOT NULL DEFAULT '',
    published BOOLEAN NOT NULL DEFAULT 0,
    created_at DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
    author_id INTEGER NOT NULL REFERENCES users (id)
);
CREATE INDEX posts_of_author ON posts (author_id);
CREATE TABLE comments (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL CHECK (text <> ''),
    created_at DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
    post_id INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES users (id)
);
CREATE INDEX comments_of_post ON comments (post_id);
INSERT INTO users VALUES
    (1, 'Ada', 'Admin', 'admin'), (2, 'Bo', 'Author', 'author'), (3, 'Cy', 'Author', 'author'),
    (4, 'Gil', NULL, 'guest');
INSERT INTO posts (id, title, body, published, created_at, author_id) VALUES
    (1, 'Bread without hurry', 'Flour, water, salt, and a night of sleep.', 1, '2024-03-01T08:00:00Z', 2),
    (2, 'What the river said', 'It said nothing, for hours, and I listened.', 1, '2024-03-05T18:30:00Z', 3),
    (3, 'Notes for a talk', 'Begin with the end.', 0, '2024-03-08T21:15:00Z', 2);
INSERT INTO comments (id, text, created_at, post_id, user_id) VALUES
    (1, 'Mine fell flat. What now?', '2024-03-01T12:00:00Z', 1, 4),
    (2, 'Wait longer.', '2024-03-01T12:05:00Z', 1, 2),
    (3, 'Lovely.', '2024-03-06T09:00:00Z', 2, 1);
