"""What people read: the work page, the site, plots, in English and French."""
