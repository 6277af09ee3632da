"""Operations on curations: requests of curators, decisions, sets of articles, consensus models."""
