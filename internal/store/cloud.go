//go:build cloud

package store

import (
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/gcsblob"   // gs://
	"google.golang.org/api/googleapi"
)

// hasCloud reports whether gs:// and azblob:// are compiled into this program.
const hasCloud = true

// cloudStatus returns the HTTP status of an answer of gs:// or azblob://, 0 if there was none.
func cloudStatus(err error) int {
	if e, is := errors.AsType[*googleapi.Error](err); is {
		return e.Code
	}
	if e, is := errors.AsType[*azcore.ResponseError](err); is {
		return e.StatusCode
	}
	return 0
}
