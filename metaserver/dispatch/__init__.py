"""The phases at work: their lanes, their boards, and the clock that drives them."""
