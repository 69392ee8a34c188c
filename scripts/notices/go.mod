module github.com/psi-shapley/psi/scripts/notices

go 1.26.5

require github.com/google/licensecheck v0.3.1
