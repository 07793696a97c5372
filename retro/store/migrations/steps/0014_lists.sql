ALTER TABLE book_positions ADD COLUMN mfe {float};
ALTER TABLE book_positions ADD COLUMN mae {float};
ALTER TABLE book_positions ADD COLUMN regret {float};
ALTER TABLE book_positions ADD COLUMN regret_ratio {float};
ALTER TABLE book_positions ADD COLUMN exit_reason TEXT;
ALTER TABLE book_positions ADD COLUMN spark {bytes};
CREATE INDEX book_positions_opened ON book_positions (agent, opened_at, position);
CREATE INDEX reviews_in_order ON reviews (period_end);
