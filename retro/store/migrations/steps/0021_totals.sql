ALTER TABLE book_claims ADD COLUMN totals TEXT;

CREATE TABLE book_tier_costs (
    agent BIGINT NOT NULL REFERENCES agents (key),
    block BIGINT NOT NULL,
    costs TEXT NOT NULL,
    PRIMARY KEY (agent, block)
);
