CREATE TABLE reviews (
    key {key},
    agent BIGINT NOT NULL REFERENCES agents (key),
    id {name} NOT NULL,
    kind {name} NOT NULL,
    subject {name} NOT NULL,
    period_start BIGINT NOT NULL,
    period_end BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    again_at BIGINT,
    state {name} NOT NULL,
    revision BIGINT NOT NULL,
    backfill INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    not_before BIGINT NOT NULL,
    owner TEXT,
    leased_until BIGINT,
    late INTEGER NOT NULL,
    facts TEXT,
    reason TEXT,
    done_at BIGINT,
    UNIQUE (agent, kind, subject, period_start)
);
CREATE INDEX reviews_by_id ON reviews (id);
CREATE INDEX reviews_open ON reviews (due_at) WHERE state IN ('waiting', 'due', 'running');
CREATE INDEX reviews_late ON reviews (key) WHERE late <> 0;
CREATE INDEX reviews_again ON reviews (again_at) WHERE again_at IS NOT NULL;
CREATE INDEX reviews_ended ON reviews (agent, period_end);

CREATE TABLE review_documents (
    review BIGINT NOT NULL REFERENCES reviews (key),
    revision BIGINT NOT NULL,
    digest TEXT NOT NULL,
    numbers TEXT,
    document TEXT,
    done_at BIGINT,
    PRIMARY KEY (review, revision)
);

CREATE TABLE enrolments (
    agent BIGINT NOT NULL PRIMARY KEY REFERENCES agents (key),
    enrolled_at BIGINT NOT NULL,
    next_at BIGINT,
    losses_from BIGINT
);

CREATE TABLE sources (
    key {name} NOT NULL PRIMARY KEY,
    state TEXT NOT NULL,
    alarm TEXT
);

CREATE TABLE outbox (
    key {key},
    review BIGINT NOT NULL REFERENCES reviews (key),
    revision BIGINT NOT NULL,
    channel {name} NOT NULL,
    recipient {name} NOT NULL,
    state {name} NOT NULL,
    digest INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    not_before BIGINT NOT NULL,
    owner TEXT,
    leased_until BIGINT,
    written_at BIGINT NOT NULL,
    sent_at BIGINT,
    reason TEXT,
    UNIQUE (review, revision, channel, recipient)
);
CREATE INDEX outbox_open ON outbox (not_before) WHERE state IN ('pending', 'sending');
