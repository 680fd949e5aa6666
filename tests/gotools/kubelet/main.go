// A kubelet's PodResources socket, as the kubelet's own code serves it: the published v1 service on grpc-go.
//
//	kubelet SOCKET ANSWER
//
// ANSWER is a file that is read at each call: a ListPodResourcesResponse as JSON; or a line that says what else to do:
// "hang" until the caller gives up, "fail CODE" with a gRPC status, "pods N" for an answer of N pods, "garbage" for bytes
// that are no message.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

type lister struct {
	podresources.UnimplementedPodResourcesListerServer
	answer string
}

func (l *lister) List(ctx context.Context, _ *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	text, err := os.ReadFile(l.answer)
	if err != nil {
		return nil, err
	}
	var number int
	line := strings.TrimSpace(string(text))
	response := &podresources.ListPodResourcesResponse{}
	switch {
	case line == "hang":
		<-ctx.Done()
		return nil, ctx.Err()
	case line == "garbage":
		response.ProtoReflect().SetUnknown([]byte{0xff, 0xff, 0xff})
		return response, nil
	case sscanf(line, "fail %d", &number):
		return nil, status.Error(codes.Code(number), "as the test\nwants it")
	case sscanf(line, "pods %d", &number):
		for i := range number {
			name := fmt.Sprintf("%d-%s", i, strings.Repeat("x", 200))
			response.PodResources = append(response.PodResources, &podresources.PodResources{Name: name, Namespace: name})
		}
		return response, nil
	}
	return response, protojson.Unmarshal(text, response)
}

func sscanf(line, format string, number *int) bool {
	count, _ := fmt.Sscanf(line, format, number)
	return count == 1
}

func main() {
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	podresources.RegisterPodResourcesListerServer(server, &lister{answer: os.Args[2]})
	fmt.Println("listening")
	log.Fatal(server.Serve(listener))
}
