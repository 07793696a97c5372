CREATE INDEX book_positions_pnl ON book_positions (agent, final_pnl, opened_at, position);
CREATE INDEX book_positions_inaction ON book_positions (agent, vs_inaction, opened_at, position);
CREATE INDEX book_positions_regret ON book_positions (agent, regret, opened_at, position);
