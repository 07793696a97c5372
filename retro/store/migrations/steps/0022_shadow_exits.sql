CREATE TABLE book_shadow_exits (
    agent BIGINT NOT NULL REFERENCES agents (key),
    rule {name} NOT NULL,
    block BIGINT NOT NULL,
    names TEXT NOT NULL,
    records {bytes} NOT NULL,
    PRIMARY KEY (agent, rule, block)
);
