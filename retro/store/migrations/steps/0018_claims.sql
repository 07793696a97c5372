CREATE TABLE book_claims (
    agent BIGINT NOT NULL REFERENCES agents (key),
    block BIGINT NOT NULL,
    names TEXT NOT NULL,
    records {bytes} NOT NULL,
    PRIMARY KEY (agent, block)
);
