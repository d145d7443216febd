"""What a picture alone gives, before anybody has marked it: features, regions, levels, edges."""
