CREATE TABLE spend (
    key {key},
    agent {name} NOT NULL,
    review {name} NOT NULL,
    revision INTEGER NOT NULL,
    at BIGINT NOT NULL,
    tier TEXT NOT NULL,
    model TEXT NOT NULL,
    worst {money} NOT NULL,
    cost {money},
    tokens_in BIGINT,
    cache_read BIGINT,
    cache_write BIGINT,
    tokens_out BIGINT
);
CREATE INDEX spend_by_time ON spend (at);
CREATE INDEX spend_by_review ON spend (review);
CREATE INDEX spend_by_agent ON spend (agent, at);

CREATE TABLE exchanges (
    spend BIGINT NOT NULL PRIMARY KEY REFERENCES spend (key),
    digest TEXT NOT NULL,
    prompt TEXT NOT NULL,
    request TEXT NOT NULL,
    answer TEXT,
    status INTEGER,
    outcome TEXT,
    request_id TEXT
);
