ALTER TABLE reviews ADD COLUMN result {float};

ALTER TABLE reviews ADD COLUMN against_nothing {float};

ALTER TABLE reviews ADD COLUMN reversal {float};

ALTER TABLE reviews ADD COLUMN summed BIGINT NOT NULL DEFAULT 0;

CREATE INDEX reviews_unsummed ON reviews (key) WHERE state = 'done' AND summed < revision;

CREATE INDEX reviews_finished ON reviews (done_at) WHERE done_at IS NOT NULL;

CREATE INDEX reviews_reversed ON reviews (period_end) WHERE reversal IS NOT NULL;

CREATE TABLE rule_weeks (
    review BIGINT NOT NULL REFERENCES reviews (key),
    rule {name} NOT NULL,
    role {name} NOT NULL,
    n BIGINT NOT NULL,
    mean {float},
    low {float},
    high {float},
    unit TEXT NOT NULL,
    verdict TEXT NOT NULL,
    evidence TEXT NOT NULL,
    e_against {float},
    e_for {float},
    ripe_in BIGINT,
    unripe TEXT,
    PRIMARY KEY (review, rule, role)
);

CREATE TABLE seen (
    owner {name} NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    digest TEXT NOT NULL
);

CREATE TABLE book_totals (
    agent BIGINT NOT NULL REFERENCES agents (key),
    day BIGINT NOT NULL,
    closed BIGINT NOT NULL,
    counted BIGINT NOT NULL,
    wins BIGINT NOT NULL,
    pnl {float} NOT NULL,
    vs_inaction {float} NOT NULL,
    PRIMARY KEY (agent, day)
)
