// An OCI registry in memory, by the package that publishes one, with TLS and one account.
//
//	registry CERTIFICATE KEY USER PASSWORD
//
// It listens on a port of 127.0.0.1 and says which.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	certificate, key, user, password := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	asked := func(answer http.ResponseWriter, request *http.Request) {
		if name, secret, _ := request.BasicAuth(); name != user || secret != password {
			answer.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			answer.WriteHeader(http.StatusUnauthorized)
			return
		}
		store.ServeHTTP(answer, request)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	log.Fatal(http.ServeTLS(listener, http.HandlerFunc(asked), certificate, key))
}
