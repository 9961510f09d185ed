"""Programs in a sandbox: started, limited, watched, ended, and what they answered."""
