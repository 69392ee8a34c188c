// Package registry keeps the models of a server. It finds model files in directories and buckets, loads new versions beside
// old ones and swaps them without losing a request. It chooses the version that answers a request, and lets requests share
// passes of a model.
package registry
