CREATE TABLE book_competence (
    agent BIGINT NOT NULL REFERENCES agents (key),
    decisions BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (agent)
);
