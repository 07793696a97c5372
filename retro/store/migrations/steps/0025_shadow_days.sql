CREATE TABLE book_shadow_days (
    agent BIGINT NOT NULL REFERENCES agents (key),
    block BIGINT NOT NULL,
    told_until BIGINT NOT NULL,
    names TEXT NOT NULL,
    records {bytes} NOT NULL,
    PRIMARY KEY (agent, block)
);

CREATE TABLE book_results (
    agent BIGINT NOT NULL REFERENCES agents (key),
    block BIGINT NOT NULL,
    records {bytes} NOT NULL,
    PRIMARY KEY (agent, block)
);

DROP TABLE book_tier_costs;

CREATE TABLE book_tier_costs (
    agent BIGINT NOT NULL REFERENCES agents (key),
    block BIGINT NOT NULL,
    earlier TEXT NOT NULL,
    records {bytes} NOT NULL,
    in_kind TEXT NOT NULL,
    PRIMARY KEY (agent, block)
);
