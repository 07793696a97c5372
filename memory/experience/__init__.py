"""Experience coming in: episodes told, hindsight of reviews, markers."""
