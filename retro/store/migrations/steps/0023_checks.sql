CREATE TABLE checks (
    agent BIGINT NOT NULL REFERENCES agents (key),
    what {name} NOT NULL,
    subject {name} NOT NULL,
    fill {name} NOT NULL,
    at BIGINT NOT NULL,
    stated {money} NOT NULL,
    tolerance {money} NOT NULL,
    booked {money} NOT NULL,
    net_of TEXT NOT NULL,
    PRIMARY KEY (agent, what, subject, fill, at)
);

CREATE INDEX checks_in_order ON checks (agent, at, what, subject, fill);
