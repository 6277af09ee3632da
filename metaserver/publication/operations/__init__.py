"""Operations on results packages and data packages."""
