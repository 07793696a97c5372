CREATE TABLE position_rulings (
    seq {key},
    agent BIGINT NOT NULL REFERENCES agents (key),
    position {name} NOT NULL,
    ruling TEXT NOT NULL,
    author TEXT NOT NULL,
    at BIGINT NOT NULL
);

CREATE INDEX position_rulings_of ON position_rulings (agent, position);

ALTER TABLE book_positions ADD COLUMN ruling TEXT;
