module oracle

go 1.25

require github.com/open-policy-agent/opa v1.22.2
