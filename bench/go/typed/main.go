// Command typed is the webhook that podberth is measured against: written as every Go admission webhook is, on net/http
// and the typed Kubernetes objects, it decodes a review, decodes its pod, and allows it. It decides nothing.
//
// The steps are those of controller-runtime's webhook server (pkg/webhook/admission/http.go and decode.go), without its
// metrics and its logging: what is measured is the least that such a webhook costs.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// controller-runtime's cap of a review: the object twice at the API server's limit of 3 MiB, and some.
const maxReviewBytes = 7 << 20

// The API server closes an idle connection after 90 s; a server has to be more patient.
const idleTimeout = 120 * time.Second

var decoder = newDecoder()

func newDecoder() runtime.Decoder {
	scheme := runtime.NewScheme()
	utilruntime.Must(admissionv1.AddToScheme(scheme))
	utilruntime.Must(corev1.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme).UniversalDeserializer()
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "loopback `address` to serve on")
	certificate := flag.String("cert", "", "PEM `file` of the serving certificate")
	key := flag.String("key", "", "PEM `file` of its key")
	decode := flag.String("decode", "pod", "how much is decoded: `pod` (what webhooks do) or uid (nothing but the answer's uid)")
	flag.Parse()

	handlers := map[string]func([]byte) (*admissionv1.AdmissionReview, error){"pod": allowPod, "uid": allowUID}
	answer, known := handlers[*decode]
	if !known {
		log.Fatalf("-decode: got %q, want pod or uid", *decode)
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	if !listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		log.Fatalf("-listen: got %s, want a loopback address", *listen)
	}
	server := &http.Server{Handler: handler(answer), IdleTimeout: idleTimeout, ReadHeaderTimeout: idleTimeout}
	log.Fatal(server.ServeTLS(listener, *certificate, *key))
}

func handler(answer func([]byte) (*admissionv1.AdmissionReview, error)) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(io.LimitReader(request.Body, maxReviewBytes))
		if err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		review, err := answer(body)
		if err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		writer.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(writer).Encode(review); err != nil {
			log.Print(err)
		}
	})
}

// allowPod decodes the review and its pod and allows it.
func allowPod(body []byte) (*admissionv1.AdmissionReview, error) {
	review := &admissionv1.AdmissionReview{}
	if _, _, err := decoder.Decode(body, nil, review); err != nil {
		return nil, err
	}
	if review.Request == nil {
		return nil, fmt.Errorf("review: got no request")
	}
	pod := &corev1.Pod{}
	if _, _, err := decoder.Decode(review.Request.Object.Raw, nil, pod); err != nil {
		return nil, err
	}
	return allowed(review.Request.UID), nil
}

// allowUID reads no more of the review than the answer repeats.
func allowUID(body []byte) (*admissionv1.AdmissionReview, error) {
	var review struct {
		Request struct {
			UID types.UID `json:"uid"`
		} `json:"request"`
	}
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, err
	}
	return allowed(review.Request.UID), nil
}

func allowed(uid types.UID) *admissionv1.AdmissionReview {
	review := &admissionv1.AdmissionReview{Response: &admissionv1.AdmissionResponse{UID: uid, Allowed: true}}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	return review
}
