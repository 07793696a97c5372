CREATE TABLE book (
    agent BIGINT NOT NULL PRIMARY KEY REFERENCES agents (key),
    dirty_from BIGINT,
    settings TEXT NOT NULL,
    opening TEXT NOT NULL
);

CREATE TABLE book_positions (
    agent BIGINT NOT NULL REFERENCES agents (key),
    position {name} NOT NULL,
    kind TEXT NOT NULL,
    instrument TEXT NOT NULL,
    strategy TEXT NOT NULL,
    side TEXT,
    opened_at BIGINT NOT NULL,
    closed_at BIGINT,
    flagged_at BIGINT,
    final_pnl {float},
    vs_inaction {float},
    notional {float},
    risk {float},
    exit_outcome {float},
    exit_resolved_at BIGINT,
    implausible_pnl {float} NOT NULL,
    told TEXT NOT NULL,
    PRIMARY KEY (agent, position)
);
CREATE INDEX book_positions_closed ON book_positions (agent, closed_at);
CREATE INDEX book_positions_seen ON book_positions (agent, exit_resolved_at);
CREATE INDEX book_positions_flagged ON book_positions (agent, flagged_at);

CREATE TABLE book_outcomes (
    agent BIGINT NOT NULL REFERENCES agents (key),
    block BIGINT NOT NULL,
    names TEXT NOT NULL,
    records {bytes} NOT NULL,
    PRIMARY KEY (agent, block)
);

CREATE TABLE book_days (
    agent BIGINT NOT NULL REFERENCES agents (key),
    at BIGINT NOT NULL,
    wallet TEXT NOT NULL,
    PRIMARY KEY (agent, at)
);

CREATE TABLE book_statements (
    agent BIGINT NOT NULL REFERENCES agents (key),
    at BIGINT NOT NULL,
    discrepancy {float} NOT NULL,
    PRIMARY KEY (agent, at)
);
