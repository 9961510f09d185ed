"""What is remembered: work to do, deliveries, an index of repositories, an audit trail."""
