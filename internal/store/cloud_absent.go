//go:build !cloud

package store

const hasCloud = false

func cloudStatus(error) int { return 0 }
