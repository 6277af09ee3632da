"""The pages that organisers, teams and the public see, kept live by event streams."""
