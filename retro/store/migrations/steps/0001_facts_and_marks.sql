CREATE TABLE agents (
    key {key},
    name {name} NOT NULL UNIQUE,
    first_at BIGINT,
    last_at BIGINT,
    as_of BIGINT,
    capital {money},
    base_currency TEXT,
    events BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE events (
    seq {serial},
    agent BIGINT NOT NULL REFERENCES agents (key),
    type {name} NOT NULL,
    id {name} NOT NULL,
    at BIGINT NOT NULL,
    position {name},
    body TEXT NOT NULL
);
CREATE UNIQUE INDEX events_identity ON events (agent, type, id);
CREATE INDEX events_by_type ON events (agent, type, at);
CREATE INDEX events_by_position ON events (agent, position, at);

CREATE TABLE corrections (
    seq {key},
    agent BIGINT NOT NULL REFERENCES agents (key),
    type {name} NOT NULL,
    id {name} NOT NULL,
    at BIGINT NOT NULL,
    position {name},
    body TEXT NOT NULL,
    place TEXT NOT NULL,
    reason TEXT NOT NULL
);

CREATE TABLE mark_series (
    key {key},
    owner {name} NOT NULL,
    instrument {name} NOT NULL,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    UNIQUE (owner, instrument)
);

CREATE TABLE mark_blocks (
    series BIGINT NOT NULL REFERENCES mark_series (key),
    day BIGINT NOT NULL,
    at_ms {bytes} NOT NULL,
    price {bytes} NOT NULL,
    low {bytes},
    high {bytes},
    PRIMARY KEY (series, day)
);

CREATE TABLE mark_corrections (
    seq {key},
    series BIGINT NOT NULL REFERENCES mark_series (key),
    at_ms BIGINT NOT NULL,
    price {float} NOT NULL,
    low {float},
    high {float},
    place TEXT NOT NULL,
    reason TEXT NOT NULL
);

CREATE TABLE faults (
    key {name} NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL,
    source TEXT NOT NULL,
    place TEXT NOT NULL,
    line BIGINT,
    reason TEXT NOT NULL
);
