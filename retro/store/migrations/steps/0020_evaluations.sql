CREATE TABLE book_evaluations (
    agent BIGINT NOT NULL REFERENCES agents (key),
    start_at BIGINT NOT NULL,
    end_at BIGINT NOT NULL,
    summaries TEXT NOT NULL,
    PRIMARY KEY (agent, start_at)
);
