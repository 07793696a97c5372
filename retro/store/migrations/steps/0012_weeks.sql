ALTER TABLE book_outcomes ADD COLUMN weeks {bytes};
