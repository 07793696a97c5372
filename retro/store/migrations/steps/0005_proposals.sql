CREATE TABLE proposals (
    key {key},
    agent BIGINT NOT NULL REFERENCES agents (key),
    id {name} NOT NULL,
    state {name} NOT NULL,
    body TEXT NOT NULL,
    resolved BIGINT NOT NULL,
    told_until BIGINT NOT NULL,
    branch {name},
    changed_at BIGINT NOT NULL,
    UNIQUE (agent, id)
);

CREATE TABLE pull_requests (
    key {key},
    agent BIGINT NOT NULL REFERENCES agents (key),
    branch {name} NOT NULL,
    channel {name} NOT NULL,
    state {name} NOT NULL,
    head TEXT,
    number BIGINT,
    url TEXT,
    comment_at BIGINT,
    commented INTEGER NOT NULL,
    changed_at BIGINT NOT NULL,
    reason TEXT,
    UNIQUE (agent, branch)
);
